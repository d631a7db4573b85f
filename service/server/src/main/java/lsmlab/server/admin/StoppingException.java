package lsmlab.server.admin;

/**
 * Thrown when a request cannot be served because the service is stopping. It gets 503 and is not logged as a
 * failure.
 */
public final class StoppingException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public StoppingException() {
    super("the service is stopping");
  }
}
