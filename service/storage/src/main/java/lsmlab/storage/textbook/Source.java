package lsmlab.storage.textbook;

import java.lang.foreign.MemorySegment;
import java.util.Iterator;

/** Entries in key order, each key once: a memtable or a table. Thread-safe. */
sealed interface Source permits SkipListMemtable, MappedTable {

  /**
   * Returns the pair or the tombstone of a key, or null if there is neither.
   *
   * @param hash hash of the key, for bloom filters
   */
  Entry get(MemorySegment key, long hash);

  /**
   * Returns the entries with {@code from ≤ key < to}.
   *
   * @param to null for no upper bound
   */
  Iterator<Entry> iterator(MemorySegment from, MemorySegment to);
}
