package lsmlab.storage;

import java.io.IOException;
import lsmlab.storage.file.SyncFailedException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Whether a store may still be written. Two kinds of failure: a <i>final</i> one (a failed sync, a fault of the engine)
 * ends writing until the store is opened again; a <i>passing</i> one (no space left) lasts until what failed succeeds.
 * Thread-safe.
 */
final class Health {

  private static final Logger LOG = LoggerFactory.getLogger(Health.class);

  private volatile Throwable finalFailure;
  private volatile IOException passingFailure;

  /**
   * @throws ReadOnlyException after a final failure
   */
  void checkWritable() {
    Throwable failure = finalFailure;
    if (failure != null) {
      throw readOnly(failure);
    }
  }

  boolean isWritable() {
    return finalFailure == null;
  }

  /** Records the failure of something that is worth trying again, unless it is one that is final by its kind. */
  void failed(String what, IOException e) {
    if (e instanceof SyncFailedException) {
      failedForGood(what, e);
    } else {
      if (passingFailure == null) {
        LOG.error("{} failed and will be tried again: {}", what, e.toString());
      }
      passingFailure = e;
    }
  }

  /** Records a failure after which nothing is written any more. */
  void failedForGood(String what, Throwable e) {
    if (finalFailure == null) {
      finalFailure = e;
      if (e instanceof IOException) {
        LOG.error("{} failed: the store takes no more writes: {}", what, e.toString());
      } else {
        LOG.error("{} failed: the store takes no more writes", what, e);
      }
    }
  }

  /** What failed in passing has succeeded. */
  void recovered() {
    if (passingFailure != null) {
      passingFailure = null;
      LOG.info("writing to the store works again");
    }
  }

  /** The passing failure of the moment, or null. */
  IOException passingFailure() {
    return passingFailure;
  }

  static ReadOnlyException readOnly(Throwable cause) {
    String what =
        cause instanceof SyncFailedException
            ? "what was written last may not be on the device; check it and restart the service"
            : cause instanceof IOException
                ? "make room on the device or repair it"
                : "this is a fault of the engine; restart the service";
    return new ReadOnlyException("the store takes no writes: " + cause + "; " + what, cause);
  }
}
