package lsmlab.storage;

import java.util.Objects;

/** What an engine accepts as key and value. */
public final class Limits {

  /** Longest value in bytes: one block of a table must address it with 31 bits. */
  public static final int VALUE_BYTES_MAX = 256 * 1024 * 1024;

  private Limits() {}

  /** Estimated bytes of a write in the log. */
  public static long recordBytes(int keyLength, int valueLength) {
    return (long) keyLength + valueLength + 32;
  }

  /** Refuses a key that no engine takes. */
  public static void checkKey(byte[] key, int offset, int length) {
    Objects.checkFromIndexSize(offset, length, key.length);
    if (length == 0 || length > Engine.KEY_BYTES_MAX) {
      throw new IllegalArgumentException(
          "a key has 1 to " + Engine.KEY_BYTES_MAX + " bytes, this one " + length);
    }
  }

  /** Refuses a value that no engine takes. */
  public static void checkValue(byte[] value, int offset, int length) {
    Objects.checkFromIndexSize(offset, length, value.length);
    if (length > VALUE_BYTES_MAX) {
      throw new IllegalArgumentException(
          "a value has at most " + VALUE_BYTES_MAX + " bytes, this one " + length);
    }
  }
}
