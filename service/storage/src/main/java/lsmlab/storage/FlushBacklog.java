package lsmlab.storage;

/**
 * What a write meets when the memtable is full and as many sealed ones as there are flush threads
 * are still being flushed. Only the engine {@code textbook} has the choice.
 */
public enum FlushBacklog {
  /** The write waits, without a limit, until a flush has ended. */
  BLOCK,
  /** The write fails with {@link OverloadedException}. */
  FAIL,
  /** The memtable is sealed all the same. Sealed memtables pile up until the heap is full. */
  UNBOUNDED
}
