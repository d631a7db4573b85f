package lsmlab.storage;

import java.util.Objects;

/** Checks that an engine accepts the lengths of a key and a value. */
public final class Limits {

  /** Longest value in bytes. A table's block addresses its bytes with 31 bits. */
  public static final int VALUE_BYTES_MAX = 256 * 1024 * 1024;

  private Limits() {}

  /** Returns the estimated size in bytes of a write's record in the WAL. */
  public static long recordBytes(int keyLength, int valueLength) {
    return (long) keyLength + valueLength + 32;
  }

  /** Throws {@link IllegalArgumentException} unless an engine accepts the key. */
  public static void checkKey(byte[] key, int offset, int length) {
    Objects.checkFromIndexSize(offset, length, key.length);
    if (length == 0 || length > Engine.KEY_BYTES_MAX) {
      throw new IllegalArgumentException(
          "a key must have 1 to " + Engine.KEY_BYTES_MAX + " bytes, not " + length);
    }
  }

  /** Throws {@link IllegalArgumentException} unless an engine accepts the value. */
  public static void checkValue(byte[] value, int offset, int length) {
    Objects.checkFromIndexSize(offset, length, value.length);
    if (length > VALUE_BYTES_MAX) {
      throw new IllegalArgumentException(
          "a value must have at most " + VALUE_BYTES_MAX + " bytes, not " + length);
    }
  }
}
