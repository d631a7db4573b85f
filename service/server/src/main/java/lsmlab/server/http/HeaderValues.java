package lsmlab.server.http;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

/** Values of single headers, parsed strictly (RFC 9112) from the bytes data[from..to), without blanks at either end. */
final class HeaderValues {

  /** A Content-Length of more digits would not fit a long. */
  private static final int LENGTH_DIGITS_MAX = 18;

  private HeaderValues() {}

  /**
   * Returns a Content-Length in bytes.
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
   * Returns a Host.
   *
   * @throws HttpRefusal if it has a byte that no host and port may have
   */
  static String host(byte[] data, int from, int to) {
    for (int i = from; i < to; i++) {
      if (!Ascii.isHost(data[i])) {
        throw HttpRefusal.malformed("malformed Host");
      }
    }
    return new String(data, from, to - from, ISO_8859_1);
  }

  /** Whether a list of options, separated by commas, has {@code option} (in lower case), ignoring case. */
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
