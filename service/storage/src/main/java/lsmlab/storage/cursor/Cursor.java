package lsmlab.storage.cursor;

import java.lang.foreign.MemorySegment;

/**
 * Walks pairs and tombstones in key order, each key once. It does not copy keys and values: it
 * returns the memory that holds them, which is valid until the cursor moves. Not thread-safe.
 */
public interface Cursor {

  /**
   * Moves to the first pair whose key is not less than {@code key}, or to the first pair if {@code
   * key} is null.
   *
   * @return whether there is such a pair
   */
  boolean seek(byte[] key);

  /**
   * Moves to the next pair. Allowed only after a {@code seek} or {@code next} that returned true.
   */
  boolean next();

  MemorySegment keySegment();

  long keyOffset();

  int keyLength();

  /** Whether the cursor is at a tombstone, which has an empty value. */
  boolean isTombstone();

  MemorySegment valueSegment();

  long valueOffset();

  int valueLength();

  /**
   * Frees memory until {@link #resume}. Until then, the cursor shows no pair and does not move.
   *
   * @param bytesMax maximum number of bytes of buffers that the cursor keeps
   */
  default void pause(int bytesMax) {}

  /** Restores the pair at the cursor after {@link #pause}. */
  default void resume() {}
}
