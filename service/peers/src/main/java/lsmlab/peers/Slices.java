package lsmlab.peers;

import java.util.Arrays;
import java.util.Objects;
import lsmlab.storage.Engine;

/** Checks and copies that all peers share. */
final class Slices {

  /** Size above which a buffer, which then held a large value, is not kept. */
  static final int KEPT_BYTES_MAX = 4 << 20;

  private Slices() {}

  /** Throws if a key is empty, too long or outside its array. */
  static void checkKey(byte[] key, int offset, int length) {
    Objects.checkFromIndexSize(offset, length, key.length);
    if (length == 0 || length > Engine.KEY_BYTES_MAX) {
      throw new IllegalArgumentException(
          "a key has 1 to " + Engine.KEY_BYTES_MAX + " bytes, this one " + length);
    }
  }

  /**
   * Returns the slice as an array: the given array if the slice is all of it, else a copy. Do not
   * keep the result.
   */
  static byte[] view(byte[] source, int offset, int length) {
    return offset == 0 && length == source.length ? source : copy(source, offset, length);
  }

  /** Copies the slice into a new array. Throws if it is outside the given array. */
  static byte[] copy(byte[] source, int offset, int length) {
    Objects.checkFromIndexSize(offset, length, source.length);
    return Arrays.copyOfRange(source, offset, offset + length);
  }

  /** Returns a number of bytes from a system property, or the default. */
  static long bytesProperty(String name, long otherwise) {
    String text = System.getProperty(name);
    if (text == null) {
      return otherwise;
    }
    try {
      long bytes = Long.parseLong(text);
      if (bytes >= 0) {
        return bytes;
      }
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(notBytes(name, text), e);
    }
    throw new IllegalArgumentException(notBytes(name, text));
  }

  private static String notBytes(String name, String text) {
    return "system property "
        + name
        + " is '"
        + text
        + "', allowed is a whole number of bytes, 0 or more";
  }
}
