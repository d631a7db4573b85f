package lsmlab.server.http;

/**
 * Finds where a request's head ends, in data that arrives in pieces of any size; every byte is looked at once.
 *
 * <p>Lines must end with CR LF: a bare LF or CR is malformed, so that no two servers can disagree on where a request
 * ends. One {@code scan} may fail early, on the first line end that is not one or on a limit.
 */
final class HeadScanner {

  /** Bytes of the head that have been looked at. */
  private int scanned;

  /** Where the current line begins, from the head's first byte. */
  private int lineStart;

  /** Length of the request line with its end; 0 before it is known. */
  private int requestLine;

  /** Forgets the head, so that the next one can be scanned. */
  void reset() {
    scanned = 0;
    lineStart = 0;
    requestLine = 0;
  }

  /** Whether nothing of a head has been looked at. */
  boolean isAtStart() {
    return scanned == 0;
  }

  /**
   * Goes on with the head that begins at {@code from}.
   *
   * @return the index behind the empty line, or -1 where the head is not complete
   * @throws BadRequestException if it cannot become a request
   */
  int scan(byte[] data, int from, int to) throws BadRequestException {
    int i = from + scanned;
    for (; i < to; i++) {
      byte b = data[i];
      if (b == '\n') {
        int start = from + lineStart;
        if (i == from || data[i - 1] != '\r') {
          throw BadRequestException.broken(400, "a line must end with CR LF");
        }
        if (i - 1 == start) {
          checkSize(i + 1 - from);
          return i + 1;
        }
        lineStart = i + 1 - from;
        if (requestLine == 0) {
          requestLine = lineStart;
        }
      } else if (i > from && data[i - 1] == '\r') {
        throw BadRequestException.broken(400, "a line must end with CR LF");
      }
    }
    scanned = i - from;
    checkSize(scanned);
    return -1;
  }

  private void checkSize(int bytes) throws BadRequestException {
    int line = requestLine == 0 ? bytes : requestLine;
    if (line > RequestHead.LINE_BYTES_MAX) {
      throw BadRequestException.broken(414, "the request line is too long");
    }
    if (bytes - line > RequestHead.HEADER_BYTES_MAX) {
      throw BadRequestException.broken(431, "the headers are too long");
    }
  }
}
