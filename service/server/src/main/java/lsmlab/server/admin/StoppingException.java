package lsmlab.server.admin;

/** What was asked for is no longer there, because the service is stopping: answered 503, and no failure. */
public final class StoppingException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public StoppingException() {
    super("the service is stopping");
  }
}
