/** Counters of an engine. They are thread-safe. */
package lsmlab.storage.stats;
