package lsmlab.server.http;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.Locale;
import lsmlab.server.metrics.Method;
import lsmlab.server.request.RequestParsing;
import one.nio.http.Request;
import one.nio.http.Response;

/**
 * A request, parsed strictly (RFC 9112) from the bytes of its lines.
 *
 * <p>The library splits the bytes into lines and passes each header as a String that it has decoded. A bare LF and
 * malformed bytes can no longer be detected there. So this class reads each line in place: {@link #linesFrom} sets
 * where the next one begins.
 *
 * <p>There are two kinds of errors. If an error makes the end of the request unknown, an {@link HttpRefusal} is thrown.
 * Any other error is kept as {@link #refusal} and answered when the request is complete.
 *
 * <p>One long file, because the request line and the headers fill the fields of one object.
 */
final class LsmHttpRequest extends Request {

  /**
   * Maximum length of a line in bytes, the same as the library's own limit. A longer request line gets 414, a
   * longer header 431.
   */
  static final int LINE_BYTES_MAX = 2048;

  /**
   * Maximum length of a request target in bytes; a longer one gets 414. With the longest method and the version it fills
   * a line, so that whoever can put a key can delete it.
   */
  static final int TARGET_BYTES_MAX = LINE_BYTES_MAX - "DELETE  HTTP/1.1\r\n".length();

  /** Maximum total size of the headers in bytes; larger ones get 431. */
  static final int HEADER_BYTES_MAX = 16 * 1024;

  /** Maximum number of headers; a request with more gets 431. The library would silently drop those after the 256th. */
  static final int HEADERS_MAX = 100;

  private static final long NO_LENGTH = -1;

  private static final byte[] ENTITY = Ascii.bytes("/v0/entity");
  private static final byte[] ENTITIES = Ascii.bytes("/v0/entities");
  private static final byte[] SCHEME = Ascii.bytes("http://");
  private static final byte[] VERSION = Ascii.bytes("HTTP/");
  private static final byte[] CLOSE = Ascii.bytes("close");
  private static final byte[] KEEP_ALIVE = Ascii.bytes("keep-alive");
  private static final byte[] CONTINUE = Ascii.bytes("100-continue");
  private static final byte[] GET = Ascii.bytes("GET");
  private static final byte[] PUT = Ascii.bytes("PUT");

  /**
   * A parameter of the query.
   *
   * @param prefix its name as the library wants it
   */
  private record Parameter(String name, byte[] bytes, String prefix) {
    Parameter(String name) {
      this(name, Ascii.bytes(name), name + "=");
    }
  }

  private static final Parameter ID = new Parameter("id");
  private static final Parameter START = new Parameter("start");
  private static final Parameter END = new Parameter("end");

  private final RequestParsing how;
  private Method kind = Method.OTHER;
  private byte[] key;
  private byte[] end;
  private HttpRefusal refusal;

  private byte[] lines;
  private int nextLine;
  private int headers;
  private int headerBytes;
  private int hosts;
  private String host;
  private String origin;
  private long contentLength = NO_LENGTH;
  private boolean expectsContinue;
  private boolean asksToClose;
  private boolean asksToKeepAlive;
  private MemoryBudget budget;
  private long budgetBytes;

  private LsmHttpRequest(int method, String uri, boolean http11, RequestParsing how) {
    super(method, uri, http11);
    this.how = how;
  }

  // ---- the request line

  /**
   * Parses the request line data[from..to), which does not include the line end.
   *
   * @throws HttpRefusal if the line is malformed
   */
  static LsmHttpRequest parse(byte[] data, int from, int to, RequestParsing how) {
    if (to + 2 - from > LINE_BYTES_MAX) {
      throw lineTooLong();
    }
    if (data[to] != '\r') {
      throw bareLineFeed();
    }
    int methodEnd = from;
    while (Ascii.isToken(data[methodEnd])) {
      methodEnd++;
    }
    if (methodEnd == from || data[methodEnd] != ' ') {
      throw HttpRefusal.malformed("malformed request line");
    }
    int target = methodEnd + 1;
    int targetEnd = target;
    while (Ascii.isTarget(data[targetEnd])) {
      targetEnd++;
    }
    if (targetEnd == target || data[targetEnd] != ' ') {
      throw HttpRefusal.malformed("malformed request target");
    }
    boolean http11 = version(data, targetEnd + 1, to);
    if (targetEnd - target > TARGET_BYTES_MAX) {
      throw lineTooLong();
    }
    boolean bare = how == RequestParsing.BARE;
    int method =
        bare
            ? method(data, from, methodEnd)
            : method(new String(data, from, methodEnd - from, ISO_8859_1));
    String uri = bare ? "" : new String(data, target, targetEnd - target, ISO_8859_1);
    LsmHttpRequest request = new LsmHttpRequest(method, uri, http11, how);
    request.linesFrom(data, to + 2);
    try {
      request.route(data, target, targetEnd);
    } catch (HttpRefusal e) {
      request.refuse(e);
    }
    return request;
  }

  static HttpRefusal bareLineFeed() {
    return HttpRefusal.malformed("every line must end with CR LF");
  }

  static HttpRefusal lineTooLong() {
    return HttpRefusal.closing(
        Response.REQUEST_URI_TOO_LONG,
        "the request target is longer than " + TARGET_BYTES_MAX + " bytes");
  }

  /** Whether the version is HTTP/1.1 or a later HTTP/1.x rather than HTTP/1.0. */
  private static boolean version(byte[] data, int from, int to) {
    if (to - from != VERSION.length + 3
        || !Ascii.startsWith(data, from, to, VERSION)
        || !Ascii.isDigit(data[to - 3])
        || data[to - 2] != '.'
        || !Ascii.isDigit(data[to - 1])) {
      throw HttpRefusal.malformed("malformed HTTP version");
    }
    if (data[to - 3] != '1') {
      throw HttpRefusal.closing(
          Response.HTTP_VERSION_NOT_SUPPORTED, "only HTTP/1.1 and HTTP/1.0 are supported");
    }
    return data[to - 1] != '0';
  }

  /** Returns the library's number for the method; 0 if this service never serves it. */
  private static int method(String name) {
    return switch (name) {
      case "GET" -> METHOD_GET;
      case "HEAD" -> METHOD_HEAD;
      case "PUT" -> METHOD_PUT;
      case "DELETE" -> METHOD_DELETE;
      default -> 0;
    };
  }

  private static int method(byte[] data, int from, int to) {
    if (Ascii.equal(data, from, to, GET)) {
      return METHOD_GET;
    }
    return Ascii.equal(data, from, to, PUT)
        ? METHOD_PUT
        : method(new String(data, from, to - from, ISO_8859_1));
  }

  /** Determines the operation. An error from here on leaves the connection usable. */
  private void route(byte[] data, int target, int targetEnd) {
    int path = target;
    int scheme = target + SCHEME.length;
    if (scheme <= targetEnd && Ascii.equalIgnoreCase(data, target, scheme, SCHEME)) {
      path = scheme;
      while (path < targetEnd && data[path] != '/') {
        path++;
      }
    }
    int pathEnd = path;
    while (pathEnd < targetEnd && data[pathEnd] != '?') {
      pathEnd++;
    }
    int query = Math.min(pathEnd + 1, targetEnd);
    boolean read = getMethod() == METHOD_GET || getMethod() == METHOD_HEAD;
    if (Ascii.equal(data, path, pathEnd, ENTITY)) {
      if (!read && getMethod() != METHOD_PUT && getMethod() != METHOD_DELETE) {
        throw methodNotAllowed("GET, HEAD, PUT, DELETE");
      }
      kind = read ? Method.GET : getMethod() == METHOD_PUT ? Method.PUT : Method.DELETE;
      key = required(data, query, targetEnd, ID);
    } else if (Ascii.equal(data, path, pathEnd, ENTITIES)) {
      if (!read) {
        throw methodNotAllowed("GET, HEAD");
      }
      kind = Method.RANGE;
      key = required(data, query, targetEnd, START);
      end = find(data, query, targetEnd, END);
      if (end != null && end.length == 0) {
        throw HttpRefusal.of(Response.BAD_REQUEST, "parameter end is empty");
      }
      if (!isHttp11()) {
        throw HttpRefusal.of(
            Response.HTTP_VERSION_NOT_SUPPORTED, "a range is sent in chunks: use HTTP/1.1");
      }
    } else {
      throw HttpRefusal.of(
          Response.BAD_REQUEST,
          "unknown path " + new String(data, path, Math.min(pathEnd - path, 100), ISO_8859_1));
    }
  }

  private static HttpRefusal methodNotAllowed(String allowed) {
    return HttpRefusal.withHeader(
        Response.METHOD_NOT_ALLOWED, "Allow: " + allowed, "allowed: " + allowed);
  }

  private byte[] required(byte[] data, int from, int to, Parameter parameter) {
    byte[] value = find(data, from, to, parameter);
    if (value == null || value.length == 0) {
      throw HttpRefusal.of(
          Response.BAD_REQUEST,
          "parameter " + parameter.name + (value == null ? " is missing" : " is empty"));
    }
    return value;
  }

  private byte[] find(byte[] data, int from, int to, Parameter parameter) {
    if (how != RequestParsing.LIBRARY) {
      return QueryDecoder.find(data, from, to, parameter.bytes);
    }
    try {
      String value = getParameter(parameter.prefix);
      return value == null ? null : value.getBytes(UTF_8);
    } catch (RuntimeException e) {
      throw HttpRefusal.of(Response.BAD_REQUEST, "malformed query: " + e.getMessage());
    }
  }

  // ---- headers

  /** Sets where the next line begins. */
  void linesFrom(byte[] data, int at) {
    lines = data;
    nextLine = at;
  }

  /** Parses the next header. Ignores the String that the library has made of it. */
  @Override
  public void addHeader(String ignored) {
    byte[] data = lines;
    int from = nextLine;
    int lineFeed = from;
    while (data[lineFeed] != '\n') {
      lineFeed++;
    }
    nextLine = lineFeed + 1;
    headerBytes += nextLine - from;
    if (nextLine - from > LINE_BYTES_MAX || headerBytes > HEADER_BYTES_MAX) {
      throw headersTooLarge();
    }
    if (++headers > HEADERS_MAX) {
      throw HttpRefusal.closing(
          Responses.HEADERS_TOO_LARGE, "at most " + HEADERS_MAX + " headers are allowed");
    }
    int nameEnd = from;
    while (Ascii.isToken(data[nameEnd])) {
      nameEnd++;
    }
    if (nameEnd == from || data[nameEnd] != ':') {
      throw HttpRefusal.malformed("malformed header");
    }
    int value = nameEnd + 1;
    int valueEnd = value;
    while (Ascii.isFieldValue(data[valueEnd])) {
      valueEnd++;
    }
    if (valueEnd != lineFeed - 1 || data[valueEnd] != '\r') {
      throw HttpRefusal.malformed(
          "a header has a control character, or a line does not end with CR LF");
    }
    while (value < valueEnd && Ascii.isBlank(data[value])) {
      value++;
    }
    while (value < valueEnd && Ascii.isBlank(data[valueEnd - 1])) {
      valueEnd--;
    }
    header(new String(data, from, nameEnd - from, ISO_8859_1), data, value, valueEnd);
  }

  static HttpRefusal headersTooLarge() {
    return HttpRefusal.closing(
        Responses.HEADERS_TOO_LARGE,
        "a header may have at most %d bytes, all headers together %d"
            .formatted(LINE_BYTES_MAX, HEADER_BYTES_MAX));
  }

  private void header(String name, byte[] data, int from, int to) {
    switch (name.toLowerCase(Locale.ROOT)) {
      case "host" -> {
        hosts++;
        host = HeaderValues.host(data, from, to);
      }
      case "origin" -> origin = new String(data, from, to - from, ISO_8859_1);
      case "content-length" -> length(data, from, to);
      case "transfer-encoding" ->
          throw HttpRefusal.closing(
              Response.LENGTH_REQUIRED, "Transfer-Encoding is not supported: send Content-Length");
      case "connection" -> {
        asksToClose |= HeaderValues.lists(data, from, to, CLOSE);
        asksToKeepAlive |= HeaderValues.lists(data, from, to, KEEP_ALIVE);
      }
      case "expect" -> expectsContinue = Ascii.equalIgnoreCase(data, from, to, CONTINUE);
      default -> {
        // other headers have no meaning for this server
      }
    }
  }

  private void length(byte[] data, int from, int to) {
    if (contentLength != NO_LENGTH) {
      throw HttpRefusal.malformed("Content-Length is given twice");
    }
    contentLength = HeaderValues.length(data, from, to);
  }

  /** Returns this class's own value of a header that the library asks for. */
  @Override
  public String getHeader(String name) {
    return switch (name) {
      case "Content-Length:" -> contentLength == NO_LENGTH ? null : Long.toString(contentLength);
      case "Connection:" -> asksToClose ? "close" : asksToKeepAlive ? "Keep-Alive" : null;
      default -> super.getHeader(name);
    };
  }

  /**
   * Handles the empty line after the headers.
   *
   * @throws HttpRefusal if the head is not complete
   */
  void endOfHead() {
    if (lines == null) {
      return; // seen already
    }
    if (lines[nextLine] != '\r') {
      throw bareLineFeed();
    }
    lines = null;
    if (hosts != 1 && (isHttp11() || hosts > 1)) {
      throw HttpRefusal.malformed("exactly one Host header is required");
    }
    if (origin != null && !HeaderValues.isSameOrigin(origin, host)) {
      refuse(
          HttpRefusal.of(
              Response.FORBIDDEN,
              "a page of " + origin + " may not use " + host + " from a browser"));
    }
  }

  // ---- what it says

  /** Returns the operation; OTHER if it is not served. */
  Method kind() {
    return kind;
  }

  /** Returns the key, or the start of a range. */
  byte[] key() {
    return key;
  }

  /** Returns the end of a range, or null if it has none. */
  byte[] end() {
    return end;
  }

  boolean isHead() {
    return getMethod() == METHOD_HEAD;
  }

  /** Returns the declared number of bytes of the body; 0 if none was declared. */
  long bodyBytes() {
    return Math.max(0, contentLength);
  }

  boolean hasLength() {
    return contentLength != NO_LENGTH;
  }

  /** Whether the client waits for a 100 Continue response before it sends the body. */
  boolean expectsContinue() {
    return expectsContinue && isHttp11();
  }

  /** Whether the connection is closed after the response. */
  boolean isLast() {
    return asksToClose;
  }

  /** Makes the connection end after the response. */
  void close() {
    asksToClose = true;
  }

  /** Records that the body counts against a budget until {@link #release}. */
  void holds(MemoryBudget from, long bytes) {
    assert budget == null : "the body is counted twice";
    budget = from;
    budgetBytes = bytes;
  }

  /** Returns the body's bytes to the budget. Idempotent. Guarded by the session's lock. */
  void release() {
    if (budget != null) {
      budget.release(budgetBytes);
      budget = null;
    }
  }

  /** Returns why the request is not served, or null if it is. */
  HttpRefusal refusal() {
    return refusal;
  }

  /** Records why the request is not served. Keeps the first reason. */
  void refuse(HttpRefusal why) {
    if (refusal == null) {
      refusal = why;
    }
  }
}
