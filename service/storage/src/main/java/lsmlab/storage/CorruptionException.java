package lsmlab.storage;

/**
 * Thrown when stored bytes fail their checksum or contradict each other. The message names the file
 * and, if it is known, the offset.
 */
public final class CorruptionException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public CorruptionException(String message) {
    super(message);
  }

  public CorruptionException(String message, Throwable cause) {
    super(message, cause);
  }
}
