package lsmlab.storage.lsm;

import java.io.IOException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLongArray;
import lsmlab.storage.CorruptionException;
import lsmlab.storage.ReadOnlyException;
import lsmlab.storage.file.SyncFailedException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Knows whether a store can be written. A <i>final</i> failure (a failed sync, an internal
 * error) ends writing until the store is opened again. A
 * <i>temporary</i> failure (no space left) lasts until the same activity succeeds. Thread-safe.
 */
final class Health {

  private static final Logger LOG = LoggerFactory.getLogger(Health.class);

  /** Activities that can fail temporarily. Each fails and recovers independently of the others. */
  enum Activity {
    WRITING_LOG("writing the WAL"),
    MAKING_LOG("creating a WAL"),
    FLUSHING("flushing a memtable"),
    COMPACTING("compacting tables");

    private final String text;

    Activity(String text) {
      this.text = text;
    }
  }

  private volatile Throwable finalFailure;
  private final Map<Activity, IOException> passing = new ConcurrentHashMap<>();
  private final AtomicLongArray failures = new AtomicLongArray(Activity.values().length);

  /**
   * Checks that there was no final failure.
   *
   * @throws ReadOnlyException if there was one
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

  /**
   * Records a temporary failure of an activity that will be retried. If a sync failed, records a
   * final failure.
   */
  void failed(Activity activity, IOException e) {
    if (e instanceof SyncFailedException) {
      failedForGood(activity.text, e);
      return;
    }
    failures.incrementAndGet(activity.ordinal());
    if (passing.put(activity, e) == null) {
      LOG.error("{} failed and will be retried: {}", activity.text, e.toString());
    }
  }

  /** Records a final failure. */
  void failedForGood(String what, Throwable e) {
    if (finalFailure == null) {
      finalFailure = e;
      if (e instanceof IOException) {
        LOG.error("{} failed: the store accepts no more writes: {}", what, e.toString());
      } else {
        LOG.error("{} failed: the store accepts no more writes", what, e);
      }
    }
  }

  /** Records that the activity succeeded, which ends its temporary failure. */
  void succeeded(Activity activity) {
    if (!passing.isEmpty() && passing.remove(activity) != null) {
      LOG.info("{} works again", activity.text);
    }
  }

  /**
   * Checks that the activity is not failing.
   *
   * @throws ReadOnlyException while the activity fails, or after a final failure
   */
  void checkNotFailing(Activity activity) {
    checkWritable();
    IOException failure = passing.get(activity);
    if (failure != null) {
      throw readOnly(failure);
    }
  }

  /**
   * Returns the number of failures of this activity so far, for {@link #checkNotFailing(Activity,
   * long)}.
   */
  long failures(Activity activity) {
    return failures.get(activity.ordinal());
  }

  /**
   * Checks that the activity has not failed since the caller asked it to retry. Ignores earlier
   * failures, because their cause may be gone.
   *
   * @param failuresBefore result of {@link #failures} at the time of the request
   * @throws ReadOnlyException if the activity is failing and failed since then, or after a final
   *     failure
   */
  void checkNotFailing(Activity activity, long failuresBefore) {
    checkWritable();
    if (failures(activity) > failuresBefore) {
      checkNotFailing(activity);
    }
  }

  static ReadOnlyException readOnly(Throwable cause) {
    String advice =
        switch (cause) {
          case SyncFailedException e ->
              "the latest writes may not be on the device; check it and restart the service";
          case IOException e when String.valueOf(e.getMessage()).contains("Too many open files") ->
              "raise the limit of open files (ulimit -n)";
          case IOException e -> "free space on the device or repair it";
          case CorruptionException e ->
              "a restart does not help; reads that do not need the damaged part still work";
          default -> "this is an internal error; restart the service";
        };
    return new ReadOnlyException("the store accepts no writes: " + cause + "; " + advice, cause);
  }
}
