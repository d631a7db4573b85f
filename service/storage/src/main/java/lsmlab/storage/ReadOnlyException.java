package lsmlab.storage;

/** The store no longer takes writes; reads go on. The message says why and what to do. */
public final class ReadOnlyException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public ReadOnlyException(String message) {
    super(message);
  }

  public ReadOnlyException(String message, Throwable cause) {
    super(message, cause);
  }
}
