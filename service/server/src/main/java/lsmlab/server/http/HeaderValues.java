package lsmlab.server.http;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

/**
 * Parses the values of single headers strictly (RFC 9112) from the bytes data[from..to), without whitespace at either
 * end.
 */
final class HeaderValues {

  /** Maximum number of digits of a Content-Length, so that it fits into a long. */
  private static final int LENGTH_DIGITS_MAX = 18;

  private HeaderValues() {}

  /**
   * Returns the value of a Content-Length header in bytes.
   *
   * @throws HttpRefusal if it is not a number of 1 to 18 digits
   */
  static long length(byte[] data, int from, int to) {
    if (from == to || to - from > LENGTH_DIGITS_MAX) {
      throw HttpRefusal.malformed("malformed Content-Length");
    }
    long value = 0;
    for (int i = from; i < to; i++) {
      if (!Ascii.isDigit(data[i])) {
        throw HttpRefusal.malformed("malformed Content-Length");
      }
      value = 10 * value + data[i] - '0';
    }
    return value;
  }

  /**
   * Returns the value of a Host header.
   *
   * @throws HttpRefusal if it contains a byte that is not allowed in a host or port
   */
  static String host(byte[] data, int from, int to) {
    for (int i = from; i < to; i++) {
      if (!Ascii.isHost(data[i])) {
        throw HttpRefusal.malformed("malformed Host");
      }
    }
    return new String(data, from, to - from, ISO_8859_1);
  }

  /** Whether a comma-separated list contains {@code option}, ignoring case. {@code option} must be in lower case. */
  static boolean lists(byte[] data, int from, int to, byte[] option) {
    int start = from;
    while (start < to) {
      int optionEnd = start;
      while (optionEnd < to && data[optionEnd] != ',') {
        optionEnd++;
      }
      int first = start;
      int last = optionEnd;
      while (first < last && Ascii.isBlank(data[first])) {
        first++;
      }
      while (first < last && Ascii.isBlank(data[last - 1])) {
        last--;
      }
      if (Ascii.equalIgnoreCase(data, first, last, option)) {
        return true;
      }
      start = optionEnd + 1;
    }
    return false;
  }

  /** Whether a page of {@code origin} was served by {@code host}, which is null if there was no Host. */
  static boolean isSameOrigin(String origin, String host) {
    return host != null
        && (origin.equalsIgnoreCase("http://" + host)
            || origin.equalsIgnoreCase("https://" + host));
  }
}
