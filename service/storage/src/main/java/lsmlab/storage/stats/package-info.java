/** Thread-safe counters of an engine. */
package lsmlab.storage.stats;
