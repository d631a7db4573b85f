package lsmlab.storage.file;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Formats bytes for people. */
public final class Printable {

  /** Maximum number of bytes of a string that are shown. */
  private static final int SHOWN_BYTES_MAX = 48;

  private Printable() {}

  /**
   * Returns the bytes in quotes. Bytes that are not printable ASCII are written as {@code \xNN}. A
   * long string is cut off and followed by its length.
   */
  public static String text(MemorySegment bytes, long offset, long length) {
    StringBuilder text = new StringBuilder("\"");
    for (long i = 0; i < Math.min(length, SHOWN_BYTES_MAX); i++) {
      int each = bytes.get(ValueLayout.JAVA_BYTE, offset + i) & 0xff;
      if (each == '"' || each == '\\') {
        text.append('\\').append((char) each);
      } else if (each >= 0x20 && each < 0x7f) {
        text.append((char) each);
      } else {
        text.append("\\x%02x".formatted(each));
      }
    }
    text.append('"');
    return length <= SHOWN_BYTES_MAX ? text.toString() : text + "… (" + length + " bytes)";
  }

  /** Returns all bytes of an array in the same form. */
  public static String text(byte[] bytes) {
    return text(MemorySegment.ofArray(bytes), 0, bytes.length);
  }
}
