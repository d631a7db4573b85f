package lsmlab.server.http;

/**
 * The storage failed in the middle of a range whose first part may be with the client already: nothing but the end of
 * the connection tells it that the rest will not come.
 */
final class BrokenRangeException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** Whether the end of the connection could be taken for the reply's end. */
  private final boolean endsWithConnection;

  BrokenRangeException(boolean endsWithConnection, Throwable cause) {
    super("a range was cut off because the storage failed: " + cause.getMessage(), cause);
    this.endsWithConnection = endsWithConnection;
  }

  boolean endsWithConnection() {
    return endsWithConnection;
  }
}
