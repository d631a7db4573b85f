package lsmlab.storage.file;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Bytes as a person can read them. */
public final class Printable {

  /** Bytes shown of a longer string. */
  private static final int SHOWN_BYTES_MAX = 48;

  private Printable() {}

  /**
   * The bytes in quotes, those that are not printable ASCII as {@code \xNN}; of a long string its beginning and its
   * length.
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

  /** All bytes of an array; see the form with a segment. */
  public static String text(byte[] bytes) {
    return text(MemorySegment.ofArray(bytes), 0, bytes.length);
  }
}
