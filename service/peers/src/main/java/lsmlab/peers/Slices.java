package lsmlab.peers;

import java.util.Arrays;
import java.util.Objects;
import lsmlab.storage.Engine;

/** What every peer checks and copies alike. */
final class Slices {

  /** Larger buffers, which only a large value needs, are not kept. */
  static final int KEPT_BYTES_MAX = 4 << 20;

  private Slices() {}

  /** Refuses a key outside its array, an empty one and one that is too long. */
  static void checkKey(byte[] key, int offset, int length) {
    Objects.checkFromIndexSize(offset, length, key.length);
    if (length == 0 || length > Engine.KEY_BYTES_MAX) {
      throw new IllegalArgumentException(
          "a key has 1 to " + Engine.KEY_BYTES_MAX + " bytes, this one " + length);
    }
  }

  /** The slice as an array: the given one where the slice is all of it. Only for what is not kept. */
  static byte[] view(byte[] source, int offset, int length) {
    return offset == 0 && length == source.length ? source : copy(source, offset, length);
  }

  /** The slice in an array of its own; refuses one outside its array. */
  static byte[] copy(byte[] source, int offset, int length) {
    Objects.checkFromIndexSize(offset, length, source.length);
    return Arrays.copyOfRange(source, offset, offset + length);
  }

  /** A whole number of bytes from a system property, or the default. */
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
