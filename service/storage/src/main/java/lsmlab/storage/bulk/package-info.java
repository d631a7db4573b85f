/** Datasets: generated pairs that are written straight into tables. */
package lsmlab.storage.bulk;
