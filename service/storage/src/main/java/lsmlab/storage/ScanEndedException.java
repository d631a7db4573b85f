package lsmlab.storage;

/**
 * Thrown when the engine ended a scan that was read too slowly: the replaced data that it kept
 * alive exceeded its limit. The caller may start another scan after the last key that it read.
 */
public final class ScanEndedException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public ScanEndedException(String message) {
    super(message);
  }
}
