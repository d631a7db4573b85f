package lsmlab.storage;

/** A checkpoint cannot be made at the place that was named. Nothing is left there; the message says what to do. */
public final class CheckpointException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public CheckpointException(String message) {
    super(message);
  }

  public CheckpointException(String message, Throwable cause) {
    super(message, cause);
  }
}
