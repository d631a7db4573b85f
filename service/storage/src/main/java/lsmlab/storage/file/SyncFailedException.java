package lsmlab.storage.file;

import java.io.IOException;

/**
 * The device did not confirm a sync. Nothing is known of what was written since the last one, and trying again would
 * lie: the kernel may have dropped the pages and report success. Whoever gets this stops writing for good.
 */
public final class SyncFailedException extends IOException {
  private static final long serialVersionUID = 1L;

  public SyncFailedException(String name, IOException cause) {
    super("sync of " + name + " failed: " + cause.getMessage(), cause);
  }
}
