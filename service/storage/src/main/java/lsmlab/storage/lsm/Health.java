package lsmlab.storage.lsm;

import java.io.IOException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import lsmlab.storage.ReadOnlyException;
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

  /** What can fail in passing; each has its own failure and its own recovery. */
  enum Activity {
    WRITING_LOG("writing the WAL"),
    MAKING_LOG("making a WAL"),
    FLUSHING("flushing a memtable"),
    MERGING("merging tables");

    private final String text;

    Activity(String text) {
      this.text = text;
    }
  }

  private volatile Throwable finalFailure;
  private final Map<Activity, IOException> passing = new ConcurrentHashMap<>();
  private final AtomicLong failures = new AtomicLong();

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
  void failed(Activity activity, IOException e) {
    if (e instanceof SyncFailedException) {
      failedForGood(activity.text, e);
      return;
    }
    failures.incrementAndGet();
    if (passing.put(activity, e) == null) {
      LOG.error("{} failed and will be tried again: {}", activity.text, e.toString());
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

  /** The activity has succeeded. */
  void succeeded(Activity activity) {
    if (!passing.isEmpty() && passing.remove(activity) != null) {
      LOG.info("{} works again", activity.text);
    }
  }

  /**
   * @throws ReadOnlyException while the activity fails, or after a final failure
   */
  void checkHopeful(Activity activity) {
    checkWritable();
    IOException failure = passing.get(activity);
    if (failure != null) {
      throw readOnly(failure);
    }
  }

  /** Failures of all activities so far, for {@link #checkHopeful(Activity, long)}. */
  long failures() {
    return failures.get();
  }

  /**
   * Disregards failures of before, which may be over: the activity has been asked to try again since.
   *
   * @param failuresBefore {@link #failures} of then
   * @throws ReadOnlyException if the activity fails and something has failed since, or after a final failure
   */
  void checkHopeful(Activity activity, long failuresBefore) {
    checkWritable();
    if (failures.get() > failuresBefore) {
      checkHopeful(activity);
    }
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
