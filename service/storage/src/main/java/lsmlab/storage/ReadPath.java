package lsmlab.storage;

/** How a lookup searches memtables and tables. Only the engine {@code textbook} has the choice. */
public enum ReadPath {
  /** Searches one after the other, newest first, and ends at the first that knows the key. */
  POINT,
  /**
   * Opens an iterator over every memtable and table, merges them and takes the first entry. Locks
   * each table and the merging iterator, for each step.
   */
  MERGE
}
