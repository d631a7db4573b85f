package lsmlab.server.http;

import java.nio.charset.StandardCharsets;

/** Character classes of HTTP's grammar, and comparisons of byte ranges. */
final class Ascii {

  private static final int TOKEN = 1;
  private static final int TARGET = 2;
  private static final int VALUE = 4;
  private static final int HOST = 8;
  private static final byte[] CLASSES = classes();

  private Ascii() {}

  /** Whether the byte may be part of a method or of a header's name (RFC 9110, 5.6.2). */
  static boolean isToken(byte b) {
    return (CLASSES[b & 0xff] & TOKEN) != 0;
  }

  /** Whether the byte may be part of a request target: visible ASCII except '#', which begins a fragment. */
  static boolean isTarget(byte b) {
    return (CLASSES[b & 0xff] & TARGET) != 0;
  }

  /** Whether the byte may be part of a header's value (RFC 9110, 5.5). */
  static boolean isFieldValue(byte b) {
    return (CLASSES[b & 0xff] & VALUE) != 0;
  }

  /** Whether the byte may be part of a host and port (RFC 3986, 3.2.2 and 3.2.3). */
  static boolean isHost(byte b) {
    return (CLASSES[b & 0xff] & HOST) != 0;
  }

  static boolean isDigit(byte b) {
    return b >= '0' && b <= '9';
  }

  static boolean isBlank(byte b) {
    return b == ' ' || b == '\t';
  }

  /** Returns the value of a hexadecimal digit, or -1 for any other byte. */
  static int hex(byte b) {
    if (isDigit(b)) {
      return b - '0';
    }
    int lower = b | 0x20;
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
  }

  /** Whether data[from..to) is exactly {@code word}. */
  static boolean equal(byte[] data, int from, int to, byte[] word) {
    return to - from == word.length && startsWith(data, from, to, word);
  }

  /** Whether data[from..to) begins with {@code word}. */
  static boolean startsWith(byte[] data, int from, int to, byte[] word) {
    if (to - from < word.length) {
      return false;
    }
    for (int i = 0; i < word.length; i++) {
      if (data[from + i] != word[i]) {
        return false;
      }
    }
    return true;
  }

  /** Whether data[from..to) is equal to {@code lower}, ignoring case. {@code lower} must be in lower case. */
  static boolean equalIgnoreCase(byte[] data, int from, int to, byte[] lower) {
    if (to - from != lower.length) {
      return false;
    }
    for (int i = 0; i < lower.length; i++) {
      byte b = data[from + i];
      if (b != lower[i] && !(b >= 'A' && b <= 'Z' && (b | 0x20) == lower[i])) {
        return false;
      }
    }
    return true;
  }

  static byte[] bytes(String ascii) {
    return ascii.getBytes(StandardCharsets.US_ASCII);
  }

  private static byte[] classes() {
    byte[] classes = new byte[256];
    for (int b = 0; b < 256; b++) {
      boolean letterOrDigit = b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z';
      if (letterOrDigit || b > 0 && "!#$%&'*+-.^_`|~".indexOf(b) >= 0) {
        classes[b] |= TOKEN;
      }
      if (letterOrDigit || b > 0 && "-._~%!$&'()*+,;=:[]".indexOf(b) >= 0) {
        classes[b] |= HOST;
      }
      if (b > ' ' && b < 0x7f && b != '#') {
        classes[b] |= TARGET;
      }
      if (b >= ' ' && b != 0x7f || b == '\t') {
        classes[b] |= VALUE;
      }
    }
    return classes;
  }
}
