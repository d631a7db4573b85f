package lsmlab.server.http;

import java.nio.charset.StandardCharsets;

/** Replies that are not a value: their status lines, and whole ones made once. */
final class Replies {

  /** Seconds after which a client that was turned away may try again. */
  private static final String RETRY_AFTER = "Retry-After: 1\r\n";

  private static final byte[][] CREATED = empty(201);
  private static final byte[][] ACCEPTED = empty(202);
  private static final byte[][] NOT_FOUND = empty(404);
  private static final byte[][] UNAVAILABLE = empty(503);

  /** The interim reply that lets a client send its body. */
  static final byte[] CONTINUE = Ascii.bytes("HTTP/1.1 100 Continue\r\n\r\n");

  private Replies() {}

  /** A whole reply without a body: 201, 202, 404 or 503. The array is shared: do not change it. */
  static byte[] empty(int status, Persistence persistence) {
    byte[][] replies =
        switch (status) {
          case 201 -> CREATED;
          case 202 -> ACCEPTED;
          case 404 -> NOT_FOUND;
          case 503 -> UNAVAILABLE;
          default -> throw new IllegalArgumentException("no prepared reply of status " + status);
        };
    return replies[persistence.ordinal()];
  }

  /** A whole reply whose body is a line of text that says what was wrong. */
  static byte[] error(BadRequestException e, Persistence persistence, boolean withBody) {
    String allow = e.allow() == null ? "" : "Allow: " + e.allow() + "\r\n";
    return text(e.status(), allow, e.getMessage(), persistence, withBody);
  }

  /** A whole 500 or 503 with a line of text. */
  static byte[] failure(int status, String message, Persistence persistence) {
    return text(status, status == 503 ? RETRY_AFTER : "", message, persistence, true);
  }

  /** The head of a chunked reply, or for HTTP/1.0 of one that ends with the connection. */
  static byte[] stream(boolean chunked, Persistence persistence) {
    return Ascii.bytes(
        statusLine(200)
            + (chunked ? "Transfer-Encoding: chunked\r\n" : "")
            + persistence.header()
            + "\r\n");
  }

  /** {@code HTTP/1.1 200 OK} and so on, with its line end. */
  static String statusLine(int status) {
    return "HTTP/1.1 " + status + " " + reason(status) + "\r\n";
  }

  private static byte[] text(
      int status, String headers, String message, Persistence persistence, boolean withBody) {
    byte[] body = (message + "\n").getBytes(StandardCharsets.UTF_8);
    String head =
        statusLine(status)
            + "Content-Type: text/plain; charset=utf-8\r\nContent-Length: "
            + body.length
            + "\r\n"
            + headers
            + persistence.header()
            + "\r\n";
    byte[] headBytes = Ascii.bytes(head);
    if (!withBody) {
      return headBytes;
    }
    byte[] reply = new byte[headBytes.length + body.length];
    System.arraycopy(headBytes, 0, reply, 0, headBytes.length);
    System.arraycopy(body, 0, reply, headBytes.length, body.length);
    return reply;
  }

  private static byte[][] empty(int status) {
    Persistence[] all = Persistence.values();
    byte[][] replies = new byte[all.length][];
    for (Persistence persistence : all) {
      String retry = status == 503 ? RETRY_AFTER : "";
      replies[persistence.ordinal()] =
          Ascii.bytes(
              statusLine(status) + "Content-Length: 0\r\n" + retry + persistence.header() + "\r\n");
    }
    return replies;
  }

  private static String reason(int status) {
    return switch (status) {
      case 200 -> "OK";
      case 201 -> "Created";
      case 202 -> "Accepted";
      case 400 -> "Bad Request";
      case 404 -> "Not Found";
      case 405 -> "Method Not Allowed";
      case 408 -> "Request Timeout";
      case 411 -> "Length Required";
      case 413 -> "Content Too Large";
      case 414 -> "URI Too Long";
      case 431 -> "Request Header Fields Too Large";
      case 500 -> "Internal Server Error";
      case 503 -> "Service Unavailable";
      case 505 -> "HTTP Version Not Supported";
      default -> throw new IllegalArgumentException("unknown status " + status);
    };
  }
}
