package lsmlab.storage;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Receives a value where it lies, so that the caller copies it once, to where it needs it. */
@FunctionalInterface
public interface ValueSink {

  /**
   * @param source memory that holds the value; valid only until this method returns
   * @param offset of the value's first byte within {@code source}
   * @param length of the value in bytes, 0 or more
   */
  void accept(MemorySegment source, long offset, int length);

  /** The value in an array of its own. */
  static byte[] copy(MemorySegment source, long offset, int length) {
    byte[] value = new byte[length];
    MemorySegment.copy(source, ValueLayout.JAVA_BYTE, offset, value, 0, length);
    return value;
  }
}
