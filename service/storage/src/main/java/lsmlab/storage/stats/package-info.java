/** Counters of an engine. Any number of threads may add to them. */
package lsmlab.storage.stats;
