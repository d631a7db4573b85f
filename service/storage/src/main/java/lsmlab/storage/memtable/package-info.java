/** Memtables: the latest writes, in skip lists in native memory. */
package lsmlab.storage.memtable;
