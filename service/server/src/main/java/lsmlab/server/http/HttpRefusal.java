package lsmlab.server.http;

import one.nio.http.Response;

/** Thrown when a request is answered with an error. Has no stack trace, because clients can cause it at will. */
final class HttpRefusal extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final String code;
  private final String header;

  private HttpRefusal(String code, String header, String message) {
    super(message, null, false, false);
    this.code = code;
    this.header = header;
  }

  /** Makes a refusal of a request whose end is known. The connection stays open. */
  static HttpRefusal of(String code, String message) {
    return new HttpRefusal(code, null, message);
  }

  /** Makes a refusal as {@link #of} does, with one more header in the response. */
  static HttpRefusal withHeader(String code, String header, String message) {
    return new HttpRefusal(code, header, message);
  }

  /** Makes a refusal of a request whose end is unknown, so that the connection must be closed. */
  static HttpRefusal closing(String code, String message) {
    return new HttpRefusal(code, null, message);
  }

  /** Makes a refusal of bytes that are not an HTTP request: status 400, and the connection is closed. */
  static HttpRefusal malformed(String message) {
    return closing(Response.BAD_REQUEST, message);
  }

  /** Returns the status code and the reason phrase, in the form that one-nio's {@code Response} takes. */
  String code() {
    return code;
  }

  /** Returns one header of the response, or null. */
  String header() {
    return header;
  }
}
