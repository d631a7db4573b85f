package lsmlab.storage;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Receives a value that is still in the engine's memory, so that the caller copies it only once.
 */
@FunctionalInterface
public interface ValueSink {

  /**
   * @param source memory that holds the value, valid only until this method returns
   * @param offset offset of the value's first byte in {@code source}
   * @param length length of the value in bytes, 0 or more
   */
  void accept(MemorySegment source, long offset, int length);

  /** Copies the value into a new array. */
  static byte[] copy(MemorySegment source, long offset, int length) {
    byte[] value = new byte[length];
    MemorySegment.copy(source, ValueLayout.JAVA_BYTE, offset, value, 0, length);
    return value;
  }
}
