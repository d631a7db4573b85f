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

  /**
   * Moves to the next pair. Returns false at the end.
   *
   * @throws ScanEndedException if the engine has ended the scan because it kept too much replaced
   *     data alive
   */
  boolean next();

  /**
   * Returns the key at the cursor, valid until the next call of {@link #next} or {@link #close}.
   */
  MemorySegment key();

  /**
   * Returns the value at the cursor, valid until the next call of {@link #next} or {@link #close}.
   */
  MemorySegment value();

  @Override
  void close();
}
