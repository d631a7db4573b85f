package lsmlab.storage;

/**
 * Thrown when the store takes no writes. Reads still work. The message says why, and what to do.
 */
public final class ReadOnlyException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public ReadOnlyException(String message) {
    super(message);
  }

  public ReadOnlyException(String message, Throwable cause) {
    super(message, cause);
  }
}
