package lsmlab.server.http;

import java.util.Arrays;

/**
 * What stood behind the last request's target, up to its head's end. A client's requests mostly differ in their target, and
 * in the digits of Content-Length where they have a body. So where the next head ends in the same bytes, what they said
 * still holds, and one comparison takes the place of a search for the head's end and the parsing of its headers.
 *
 * <p>For one thread.
 */
final class LastRest {

  /** A longer rest is not kept. */
  static final int BYTES_MAX = 256;

  private byte[] bytes = new byte[0];
  private int length;

  /** Where Content-Length's digits were; {@link #length} twice where there was none. */
  private int digitsFrom;

  private int digitsTo;
  private long contentLength;

  /** Keeps nothing. */
  void forget() {
    length = 0;
  }

  /**
   * Keeps data[from..to), if that is not too long.
   *
   * @param lengthFrom where Content-Length's digits begin, {@code to} where it is not given
   * @param lengthTo where they end
   */
  void keep(byte[] data, int from, int to, int lengthFrom, int lengthTo) {
    length = to - from;
    if (length > BYTES_MAX) {
      length = 0;
      return;
    }
    if (bytes.length < length) {
      bytes = new byte[length];
    }
    System.arraycopy(data, from, bytes, 0, length);
    digitsFrom = lengthFrom - from;
    digitsTo = lengthTo - from;
  }

  boolean isKept() {
    return length > 0;
  }

  /**
   * Compares with what is at {@code from}.
   *
   * @return the index behind the head; -1 where it is another, or incomplete before {@code to}
   */
  int match(byte[] data, int from, int to) {
    int at = from + digitsFrom;
    if (at > to || !Arrays.equals(data, from, at, bytes, 0, digitsFrom)) {
      return -1;
    }
    contentLength = RequestHead.NO_LENGTH;
    if (digitsTo > digitsFrom) {
      long value = 0;
      int digitsEnd = Math.min(to, at + RequestHead.LENGTH_DIGITS_MAX);
      int first = at;
      for (; at < digitsEnd && Ascii.isDigit(data[at]); at++) {
        value = 10 * value + data[at] - '0';
      }
      if (at == first) {
        return -1;
      }
      contentLength = value;
    }
    int end = at + length - digitsTo;
    return end <= to && Arrays.equals(data, at, end, bytes, digitsTo, length) ? end : -1;
  }

  /** The length that the head which {@link #match} has found gives, {@link RequestHead#NO_LENGTH} where it gives none. */
  long contentLength() {
    return contentLength;
  }
}
