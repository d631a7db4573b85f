package lsmlab.server.http;

/** A request that gets an error instead of what it asks for. Has no stack trace, because peers can cause it at will. */
final class BadRequestException extends Exception {
  private static final long serialVersionUID = 1L;

  private final int status;
  private final boolean framingLost;
  private String allow;

  /**
   * Makes one.
   *
   * @param framingLost whether it is unknown where the next request begins, so that the connection must be closed
   */
  private BadRequestException(int status, boolean framingLost, String message) {
    super(message, null, false, false);
    this.status = status;
    this.framingLost = framingLost;
  }

  /** The request's end is known; the connection can go on. */
  static BadRequestException refused(int status, String message) {
    return new BadRequestException(status, false, message);
  }

  /** Another method would be served; the connection can go on. */
  static BadRequestException methodNotAllowed(String allowed) {
    BadRequestException e = refused(405, "allowed: " + allowed);
    e.allow = allowed;
    return e;
  }

  /** The connection cannot go on. */
  static BadRequestException broken(int status, String message) {
    return new BadRequestException(status, true, message);
  }

  int status() {
    return status;
  }

  /** The methods that are allowed, for a 405; else null. */
  String allow() {
    return allow;
  }

  boolean framingLost() {
    return framingLost;
  }
}
