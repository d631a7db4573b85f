package lsmlab.server.http;

import java.nio.charset.StandardCharsets;
import lsmlab.server.metrics.Method;

/**
 * The head of an HTTP/1 request, parsed strictly from bytes (RFC 9112). Reused from request to request; used by one
 * thread at a time.
 *
 * <p>The key stays where it is until {@link Exchange} decodes it: the head knows where the query lies.
 *
 * <p>A client's requests are mostly alike: see {@link #parseLikeLast}.
 */
final class RequestHead {

  /** A longer header section is answered 431. */
  static final int HEADER_BYTES_MAX = 16 * 1024;

  /** More headers are answered 431. */
  static final int HEADERS_MAX = 100;

  /** A longer request line is answered 414: room for the longest key with all its bytes escaped. */
  static final int LINE_BYTES_MAX = 3 * 65_535 + 1024;

  /** A longer Content-Length is malformed: it would not fit a long. */
  static final int LENGTH_DIGITS_MAX = 18;

  /** {@link #contentLength} where the request does not give one. */
  static final long NO_LENGTH = -1;

  private static final byte[] GET = Ascii.bytes("GET");
  private static final byte[] PUT = Ascii.bytes("PUT");
  private static final byte[] HEAD = Ascii.bytes("HEAD");
  private static final byte[] DELETE = Ascii.bytes("DELETE");
  private static final byte[] ENTITY = Ascii.bytes("/v0/entity");
  private static final byte[] ENTITIES = Ascii.bytes("/v0/entities");
  private static final byte[] SCHEME = Ascii.bytes("http://");
  private static final byte[] VERSION = Ascii.bytes("HTTP/");
  private static final byte[] HOST = Ascii.bytes("host");
  private static final byte[] CONTENT_LENGTH = Ascii.bytes("content-length");
  private static final byte[] TRANSFER_ENCODING = Ascii.bytes("transfer-encoding");
  private static final byte[] CONNECTION = Ascii.bytes("connection");
  private static final byte[] EXPECT = Ascii.bytes("expect");
  private static final byte[] CLOSE = Ascii.bytes("close");
  private static final byte[] KEEP_ALIVE = Ascii.bytes("keep-alive");
  private static final byte[] CONTINUE = Ascii.bytes("100-continue");

  /** What is asked; OTHER for anything that is not served, with {@link #failure} saying why. */
  Method method = Method.OTHER;

  /** Where the query begins and ends in the data that was parsed. */
  int queryStart;

  int queryEnd;
  boolean http10;
  boolean keepAlive;
  boolean expectContinue;
  boolean head;
  long contentLength;

  /** A request whose end is known and which cannot be served; null if it can. */
  BadRequestException failure;

  private final LastRest lastRest = new LastRest();

  /** Where the digits of Content-Length are. */
  private int lengthFrom;

  private int lengthTo;
  private boolean transferEncoding;
  private boolean connectionClose;
  private boolean connectionKeepAlive;
  private int hosts;

  /**
   * Parses data[from..to), which ends with the empty line.
   *
   * @throws BadRequestException if the request is malformed so that its end cannot be trusted
   */
  void parse(byte[] data, int from, int to) throws BadRequestException {
    lastRest.forget();
    method = Method.OTHER;
    failure = null;
    expectContinue = false;
    head = false;
    contentLength = NO_LENGTH;
    transferEncoding = false;
    connectionClose = false;
    connectionKeepAlive = false;
    hosts = 0;
    int lineEnd = endOfLine(data, from);
    int methodEnd = from;
    while (Ascii.isToken(data[methodEnd])) {
      methodEnd++;
    }
    int targetEnd = methodEnd + 1;
    if (methodEnd == from || data[methodEnd] != ' ') {
      throw BadRequestException.broken(400, "malformed request line");
    }
    while (Ascii.isTarget(data[targetEnd])) {
      targetEnd++;
    }
    if (targetEnd == methodEnd + 1 || data[targetEnd] != ' ') {
      throw BadRequestException.broken(400, "malformed request target");
    }
    version(data, targetEnd + 1, lineEnd);
    headers(data, lineEnd + 2, to);
    keepAlive = !connectionClose && (!http10 || connectionKeepAlive);
    if (transferEncoding) {
      throw BadRequestException.broken(411, "Transfer-Encoding is not served: give Content-Length");
    }
    if (hosts != 1 && !(http10 && hosts == 0)) {
      throw BadRequestException.broken(400, "exactly one Host header is needed");
    }
    route(data, from, methodEnd, methodEnd + 1, targetEnd);
    boolean noLength = contentLength == NO_LENGTH;
    lastRest.keep(data, targetEnd, to, noLength ? to : lengthFrom, noLength ? to : lengthTo);
  }

  /**
   * Parses a head that begins at {@code from} and is like the last one but for method, target and the digits of Content-Length:
   * with one comparison instead of a search for its end and the parsing of its headers, see {@link LastRest}.
   *
   * @return the index behind the head; -1 where it is another, incomplete or malformed: nothing has changed then
   */
  int parseLikeLast(byte[] data, int from, int to) {
    if (!lastRest.isKept()) {
      return -1;
    }
    int lineMax = Math.min(to, from + LINE_BYTES_MAX - LastRest.BYTES_MAX);
    int methodEnd = from;
    while (methodEnd < lineMax && Ascii.isToken(data[methodEnd])) {
      methodEnd++;
    }
    if (methodEnd == from || methodEnd >= lineMax || data[methodEnd] != ' ') {
      return -1;
    }
    int targetEnd = methodEnd + 1;
    while (targetEnd < lineMax && Ascii.isTarget(data[targetEnd])) {
      targetEnd++;
    }
    int end = targetEnd == methodEnd + 1 ? -1 : lastRest.match(data, targetEnd, to);
    if (end < 0) {
      return -1;
    }
    contentLength = lastRest.contentLength();
    method = Method.OTHER;
    failure = null;
    route(data, from, methodEnd, methodEnd + 1, targetEnd);
    return end;
  }

  private void version(byte[] data, int from, int to) throws BadRequestException {
    if (to - from != VERSION.length + 3
        || !Ascii.startsWith(data, from, to, VERSION)
        || !Ascii.isDigit(data[to - 3])
        || data[to - 2] != '.'
        || !Ascii.isDigit(data[to - 1])) {
      throw BadRequestException.broken(400, "malformed HTTP version");
    }
    if (data[to - 3] != '1') {
      throw BadRequestException.broken(505, "HTTP/1.1 and HTTP/1.0 are served");
    }
    http10 = data[to - 1] == '0';
  }

  private void headers(byte[] data, int from, int to) throws BadRequestException {
    int count = 0;
    int line = from;
    while (data[line] != '\r') {
      if (++count > HEADERS_MAX) {
        throw BadRequestException.broken(431, "at most " + HEADERS_MAX + " headers are allowed");
      }
      int nameEnd = line;
      while (Ascii.isToken(data[nameEnd])) {
        nameEnd++;
      }
      if (nameEnd == line || data[nameEnd] != ':') {
        throw BadRequestException.broken(400, "malformed header");
      }
      int valueEnd = nameEnd + 1;
      while (Ascii.isFieldValue(data[valueEnd])) {
        valueEnd++;
      }
      if (data[valueEnd] != '\r' || data[valueEnd + 1] != '\n') {
        throw BadRequestException.broken(400, "a header has a control character");
      }
      header(data, line, nameEnd, valueEnd);
      line = valueEnd + 2;
    }
    assert line + 2 == to;
  }

  /** Notes a header that matters. The first letter and the length of the name keep most others cheap. */
  private void header(byte[] data, int nameStart, int nameEnd, int lineEnd)
      throws BadRequestException {
    int from = nameEnd + 1;
    int to = lineEnd;
    while (from < to && isBlank(data[from])) {
      from++;
    }
    while (from < to && isBlank(data[to - 1])) {
      to--;
    }
    switch (data[nameStart] | 0x20) {
      case 'h' -> {
        if (Ascii.equalIgnoreCase(data, nameStart, nameEnd, HOST)) {
          hosts++;
        }
      }
      case 'c' -> {
        if (Ascii.equalIgnoreCase(data, nameStart, nameEnd, CONTENT_LENGTH)) {
          length(data, from, to);
        } else if (Ascii.equalIgnoreCase(data, nameStart, nameEnd, CONNECTION)) {
          connection(data, from, to);
        }
      }
      case 't' -> {
        if (Ascii.equalIgnoreCase(data, nameStart, nameEnd, TRANSFER_ENCODING)) {
          transferEncoding = true;
        }
      }
      case 'e' -> {
        if (Ascii.equalIgnoreCase(data, nameStart, nameEnd, EXPECT)) {
          expectContinue = Ascii.equalIgnoreCase(data, from, to, CONTINUE);
        }
      }
      default -> {
        // any other header says nothing to this server
      }
    }
  }

  private void length(byte[] data, int from, int to) throws BadRequestException {
    if (contentLength != NO_LENGTH) {
      throw BadRequestException.broken(400, "Content-Length is given twice");
    }
    if (from == to || to - from > LENGTH_DIGITS_MAX) {
      throw BadRequestException.broken(400, "malformed Content-Length");
    }
    long value = 0;
    for (int i = from; i < to; i++) {
      if (!Ascii.isDigit(data[i])) {
        throw BadRequestException.broken(400, "malformed Content-Length");
      }
      value = 10 * value + data[i] - '0';
    }
    contentLength = value;
    lengthFrom = from;
    lengthTo = to;
  }

  private void connection(byte[] data, int from, int to) {
    int start = from;
    while (start < to) {
      int end = start;
      while (end < to && data[end] != ',') {
        end++;
      }
      int first = start;
      int last = end;
      while (first < last && isBlank(data[first])) {
        first++;
      }
      while (first < last && isBlank(data[last - 1])) {
        last--;
      }
      connectionClose |= Ascii.equalIgnoreCase(data, first, last, CLOSE);
      connectionKeepAlive |= Ascii.equalIgnoreCase(data, first, last, KEEP_ALIVE);
      start = end + 1;
    }
  }

  /** Tells what is asked from method and path; from here on failures leave the connection usable. */
  private void route(byte[] data, int methodStart, int methodEnd, int targetStart, int targetEnd) {
    int pathStart = targetStart;
    if (data[pathStart] != '/' && Ascii.startsWith(data, targetStart, targetEnd, SCHEME)) {
      pathStart = targetStart + SCHEME.length;
      while (pathStart < targetEnd && data[pathStart] != '/') {
        pathStart++;
      }
    }
    int pathEnd = pathStart;
    while (pathEnd < targetEnd && data[pathEnd] != '?') {
      pathEnd++;
    }
    queryStart = Math.min(pathEnd + 1, targetEnd);
    queryEnd = targetEnd;
    boolean get = Ascii.equal(data, methodStart, methodEnd, GET);
    head = Ascii.equal(data, methodStart, methodEnd, HEAD);
    if (Ascii.equal(data, pathStart, pathEnd, ENTITY)) {
      if (get) {
        method = Method.GET;
      } else if (Ascii.equal(data, methodStart, methodEnd, PUT)) {
        method = Method.PUT;
      } else if (Ascii.equal(data, methodStart, methodEnd, DELETE)) {
        method = Method.DELETE;
      } else {
        failure = BadRequestException.methodNotAllowed("GET, PUT, DELETE");
      }
    } else if (Ascii.equal(data, pathStart, pathEnd, ENTITIES)) {
      if (get) {
        method = Method.RANGE;
      } else {
        failure = BadRequestException.methodNotAllowed("GET");
      }
    } else {
      String path =
          new String(
              data, pathStart, Math.min(pathEnd - pathStart, 100), StandardCharsets.US_ASCII);
      failure = BadRequestException.refused(400, "unknown path " + path);
    }
  }

  /** The index of the CR that ends the line; there is one, because the head ends with an empty line. */
  private static int endOfLine(byte[] data, int from) {
    int i = from;
    while (data[i] != '\r') {
      i++;
    }
    return i;
  }

  private static boolean isBlank(byte b) {
    return b == ' ' || b == '\t';
  }
}
