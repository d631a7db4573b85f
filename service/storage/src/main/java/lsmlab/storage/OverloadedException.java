package lsmlab.storage;

/**
 * Thrown when flushes or compactions do not keep up with writes. Nothing was written; the caller
 * may try again later.
 */
public final class OverloadedException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public OverloadedException(String message) {
    super(message);
  }

  public OverloadedException(String message, Throwable cause) {
    super(message, cause);
  }
}
