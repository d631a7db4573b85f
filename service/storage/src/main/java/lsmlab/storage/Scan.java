package lsmlab.storage;

import java.lang.foreign.MemorySegment;

/**
 * A cursor over pairs in key order. It starts before the first pair. Used by one thread at a time.
 *
 * <pre>{@code
 * try (Scan scan = engine.scan(from, to)) {
 *   while (scan.next()) {
 *     use(scan.key(), scan.value());
 *   }
 * }
 * }</pre>
 */
public interface Scan extends AutoCloseable {

  /** Maximum number of bytes of buffers that a paused scan keeps on the heap. */
  int PAUSED_BYTES_MAX = 64 * 1024;

  /**
   * Moves to the next pair. Returns false at the end.
   *
   * @throws ScanEndedException if the engine has ended the scan because it kept too much replaced
   *     data alive
   */
  boolean next();

  /**
   * Returns the key at the cursor, valid until the next call of {@link #next}, {@link #pause} or
   * {@link #close}.
   */
  MemorySegment key();

  /**
   * Returns the value at the cursor, valid until the next call of {@link #next}, {@link #pause} or
   * {@link #close}.
   */
  MemorySegment value();

  /**
   * Frees the memory that the scan can restore, at most {@link #PAUSED_BYTES_MAX} stay; and allows
   * the engine to end the scan. For callers that wait, for example for a slow reader. Call {@link
   * #next} to continue with the next pair, or {@link #resume} to use the same pair again.
   */
  default void pause() {}

  /**
   * Makes the pair at the cursor available again after {@link #pause}.
   *
   * @throws ScanEndedException as {@link #next}
   */
  default void resume() {}

  @Override
  void close();
}
