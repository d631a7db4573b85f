/** Datasets: generated pairs, written straight into tables. */
package lsmlab.storage.bulk;
