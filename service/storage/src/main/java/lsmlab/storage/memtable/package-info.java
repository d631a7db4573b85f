/** What was written last: a skip list in native memory. */
package lsmlab.storage.memtable;
