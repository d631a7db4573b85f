/** What an engine counts while it works, cheaply, by any number of threads. */
package lsmlab.storage.stats;
