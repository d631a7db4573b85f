package lsmlab.server.http;

import one.nio.http.Response;

/** Why a request is answered with an error. Without a stack trace, because clients can cause it at will. */
final class HttpRefusal extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final String code;
  private final boolean framingLost;
  private final String header;

  private HttpRefusal(String code, boolean framingLost, String header, String message) {
    super(message, null, false, false);
    this.code = code;
    this.framingLost = framingLost;
    this.header = header;
  }

  /** The end of the request is known: the connection can continue. */
  static HttpRefusal of(String code, String message) {
    return new HttpRefusal(code, false, null, message);
  }

  /** Like {@link #of}, with one more header in the response. */
  static HttpRefusal withHeader(String code, String header, String message) {
    return new HttpRefusal(code, false, header, message);
  }

  /** It is unknown where the next request begins: the connection ends. */
  static HttpRefusal closing(String code, String message) {
    return new HttpRefusal(code, true, null, message);
  }

  /** The bytes are no request: 400, and the connection ends. */
  static HttpRefusal malformed(String message) {
    return closing(Response.BAD_REQUEST, message);
  }

  /** Status code and reason, as one-nio's {@code Response} takes them. */
  String code() {
    return code;
  }

  /** One header of the response, or null. */
  String header() {
    return header;
  }

  boolean framingLost() {
    return framingLost;
  }
}
