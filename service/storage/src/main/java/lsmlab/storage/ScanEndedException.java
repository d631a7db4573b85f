package lsmlab.storage;

/**
 * A scan was ended because it was read too slowly: what it kept of an earlier moment had grown past its bound. The caller
 * may begin another one after the last key that it was shown.
 */
public final class ScanEndedException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public ScanEndedException(String message) {
    super(message);
  }
}
