package lsmlab.storage;

/**
 * Thrown when no checkpoint can be made in the given directory. Nothing is left there. The message
 * says what to do.
 */
public final class CheckpointException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public CheckpointException(String message) {
    super(message);
  }

  public CheckpointException(String message, Throwable cause) {
    super(message, cause);
  }
}
