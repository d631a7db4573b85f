package lsmlab.storage;

import java.util.Objects;

/** What an engine accepts as key and value. */
final class Limits {

  /** Longest value in bytes: one block of a table must address it with 31 bits. */
  static final int VALUE_BYTES_MAX = 256 * 1024 * 1024;

  private Limits() {}

  static void checkKey(byte[] key, int offset, int length) {
    Objects.checkFromIndexSize(offset, length, key.length);
    if (length == 0 || length > Engine.KEY_BYTES_MAX) {
      throw new IllegalArgumentException(
          "a key has 1 to " + Engine.KEY_BYTES_MAX + " bytes, this one " + length);
    }
  }

  static void checkValue(byte[] value, int offset, int length) {
    Objects.checkFromIndexSize(offset, length, value.length);
    if (length > VALUE_BYTES_MAX) {
      throw new IllegalArgumentException(
          "a value has at most " + VALUE_BYTES_MAX + " bytes, this one " + length);
    }
  }
}
