package lsmlab.server.admin;

/** The request cannot be served because the service is stopping: answered 503, and not counted as a failure. */
public final class StoppingException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public StoppingException() {
    super("the service is stopping");
  }
}
