package lsmlab.storage.file;

import java.io.IOException;

/**
 * Thrown when the device did not confirm a sync. Bytes written since the last successful sync may
 * be lost. A successful retry proves nothing, because the kernel may have dropped the pages. The
 * store must therefore stop writing until it is opened again.
 */
public final class SyncFailedException extends IOException {
  private static final long serialVersionUID = 1L;

  public SyncFailedException(String name, IOException cause) {
    super("sync of " + name + " failed: " + cause.getMessage(), cause);
  }
}
