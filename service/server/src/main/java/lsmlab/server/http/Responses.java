package lsmlab.server.http;

import java.nio.charset.StandardCharsets;
import one.nio.http.Response;

/** Makes responses other than values. Each call makes a new object, because sending a response adds a header to it. */
final class Responses {

  /** Status 431, for which one-nio has no constant. */
  static final String HEADERS_TOO_LARGE = "431 Request Header Fields Too Large";

  /** Header with the number of seconds after which a refused client may try again. */
  static final String RETRY_AFTER = "Retry-After: 1";

  /**
   * Two headers in one constant, which costs a copy per response: a browser shows a value as bytes, and runs none as a
   * page or script.
   */
  static final String OPAQUE =
      "Content-Type: application/octet-stream\r\nX-Content-Type-Options: nosniff";

  /** The interim response that allows a client to send its body. */
  static final byte[] CONTINUE = Ascii.bytes("HTTP/1.1 100 Continue\r\n\r\n");

  private Responses() {}

  /** Returns a 200 with the value of a pair. */
  static Response value(byte[] bytes) {
    Response response = Response.ok(bytes);
    response.addHeader(OPAQUE);
    return response;
  }

  static Response empty(String code) {
    return new Response(code, Response.EMPTY);
  }

  /** Returns a 503 without a body. */
  static Response unavailable() {
    Response response = empty(Response.SERVICE_UNAVAILABLE);
    response.addHeader(RETRY_AFTER);
    return response;
  }

  /** Returns a 503 with a line that gives the reason. */
  static Response unavailable(String message) {
    Response response = text(Response.SERVICE_UNAVAILABLE, message);
    response.addHeader(RETRY_AFTER);
    return response;
  }

  static Response refusal(HttpRefusal why) {
    Response response = text(why.code(), why.getMessage());
    if (why.header() != null) {
      response.addHeader(why.header());
    }
    return response;
  }

  /** Returns an error response with a line of text. */
  static Response text(String code, String message) {
    Response response = new Response(code, (message + "\n").getBytes(StandardCharsets.UTF_8));
    response.addHeader("Content-Type: text/plain; charset=utf-8");
    return response;
  }
}
