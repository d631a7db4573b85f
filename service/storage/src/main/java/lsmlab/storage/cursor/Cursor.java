package lsmlab.storage.cursor;

import java.lang.foreign.MemorySegment;

/**
 * Walks pairs and tombstones in key order, each key once. Shows where things lie instead of copying them. What it shows
 * is valid until it moves. Not thread-safe.
 */
public interface Cursor {

  /**
   * Moves to the first pair whose key is not less than {@code key}, or to the first of all if it is null.
   *
   * @return whether there is one
   */
  boolean seek(byte[] key);

  /** Moves to the next pair; only after a {@code seek} or {@code next} that returned true. */
  boolean next();

  MemorySegment keySegment();

  long keyOffset();

  int keyLength();

  /** Whether this is the mark of a deletion, whose value is empty. */
  boolean isTombstone();

  MemorySegment valueSegment();

  long valueOffset();

  int valueLength();
}
