package lsmlab.storage.lsm;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import lsmlab.storage.CorruptionException;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.concurrent.Threads;
import lsmlab.storage.event.EventLog;
import lsmlab.storage.file.StoreDirectory;
import lsmlab.storage.stats.LevelTraffic;
import lsmlab.storage.table.TableWorkspace;
import lsmlab.storage.version.TableSet;
import lsmlab.storage.version.TableSet.Placed;
import lsmlab.storage.version.Version;
import lsmlab.storage.version.VersionSet;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Compacts tables in one background thread, one {@link CompactionPolicy.Task} after another: those
 * that the policy calls due, and on demand one of all tables. Inputs stay readable until their
 * replacement is published. A compaction that ends early leaves no file that the manifest does not
 * name.
 *
 * <p>A compaction is published piece by piece, in key order. Once it has passed the end of some
 * tables of its output level, the tables written so far replace them, and their disk space is
 * freed. So a compaction needs space for a few tables, not for the whole level. The inputs from
 * upper levels stay until the last piece. Until then they agree with the output level about each
 * key: both hold the same value, or the upper level holds a tombstone and the output level nothing.
 * So lookups are correct at any moment, and a compaction that ends early can be repeated.
 *
 * <p>A table in which a compaction meets damage is left out of all further ones, because to read
 * it again would fail again. Other tables are compacted as before, and writes go on until level 0
 * is full.
 */
final class Compactor implements AutoCloseable, WriteController.CompactionState {

  private static final Logger LOG = LoggerFactory.getLogger(Compactor.class);

  private static final double RATE_WEIGHT = 0.3;

  private static final long RETRY_MILLIS = 1_000;

  /** If no table was added to level 0 for this many milliseconds, none is expected soon. */
  private static final long RESTING_MILLIS = 2_000;

  private final StoreDirectory directory;
  private final LsmOptions options;
  private final VersionSet versions;
  private final Health health;
  private final Runnable published;
  private final CompactionPolicy policy;

  /** Used by the compaction thread only. */
  private final TableWorkspace workspace = new TableWorkspace();

  private final Thread thread = Threads.background("lsmlab-compact", this::work);
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();

  // Guarded by lock.
  private long fullRequested;
  private long fullDone;
  private boolean busy;
  private int restWaiters;
  private long changedAt = System.nanoTime();

  /** Faults of the tables that no compaction takes until the store is opened again, by number. */
  private final Map<Long, Throwable> damaged = new ConcurrentHashMap<>();

  private volatile boolean closing;
  private volatile double level0Rate;

  /**
   * Time spent on compactions since the last one of level 0. Used by the compaction thread only.
   */
  private long nanosSinceLevel0;

  private final LongAdder compactions = new LongAdder();
  private final LevelTraffic traffic;
  private final LongAdder nanos = new LongAdder();

  /**
   * @param published called on the compaction thread after each publication
   */
  Compactor(
      StoreDirectory directory,
      LsmOptions options,
      VersionSet versions,
      Health health,
      LevelTraffic traffic,
      Runnable published) {
    this.directory = directory;
    this.options = options;
    this.versions = versions;
    this.health = health;
    this.traffic = traffic;
    this.published = published;
    this.policy = CompactionPolicy.of(options);
  }

  void start() {
    thread.start();
  }

  /** Tells the compactor that tables were added, so that it checks whether a compaction is due. */
  void tablesChanged() {
    lock.lock();
    try {
      changedAt = System.nanoTime();
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Compacts all current tables. Returns when that is done.
   *
   * @throws CorruptionException if a table is damaged
   */
  void compactAll() {
    long failuresBefore = health.failures(Health.Activity.COMPACTING);
    lock.lock();
    try {
      long wanted = ++fullRequested;
      changed.signalAll();
      while (fullDone < wanted) {
        checkNotFailing(failuresBefore);
        changed.await(100, TimeUnit.MILLISECONDS);
      }
      checkUndamaged();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while waiting for a compaction", e);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Returns when no compaction is running or due.
   *
   * @throws CorruptionException if a table is damaged and therefore not compacted
   */
  void awaitIdle() {
    long failuresBefore = health.failures(Health.Activity.COMPACTING);
    lock.lock();
    restWaiters++;
    changed.signalAll();
    try {
      while (busy || fullDone < fullRequested || isDue()) {
        checkNotFailing(failuresBefore);
        changed.await(20, TimeUnit.MILLISECONDS);
      }
      checkUndamaged();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while waiting for a compaction", e);
    } finally {
      restWaiters--;
      lock.unlock();
    }
  }

  private void checkNotFailing(long failuresBefore) {
    health.checkNotFailing(Health.Activity.COMPACTING, failuresBefore);
    if (closing) {
      throw new IllegalStateException("the store is being closed");
    }
  }

  private void checkUndamaged() {
    damaged.forEach(
        (number, fault) -> {
          throw new CorruptionException(
              "compactions leave out table " + number + ": " + fault.getMessage(), fault);
        });
  }

  private boolean isDue() {
    Version version = versions.acquire();
    try {
      return pick(version.tables()) != null;
    } finally {
      VersionSet.releaseQuietly(version);
    }
  }

  private CompactionPolicy.Task pick(TableSet tables) {
    return policy.pick(tables, isResting(), damaged.keySet());
  }

  /**
   * Whether no more writes are expected, or a caller of {@link #awaitIdle} asks to act as if none
   * were.
   */
  private boolean isResting() {
    lock.lock();
    try {
      return restWaiters > 0
          || System.nanoTime() - changedAt >= TimeUnit.MILLISECONDS.toNanos(RESTING_MILLIS);
    } finally {
      lock.unlock();
    }
  }

  private void work() {
    try {
      while (awaitWork()) {
        mergeOnce();
      }
    } catch (RuntimeException | Error e) {
      health.failedForGood("choosing tables to compact", e);
    }
  }

  private void mergeOnce() {
    long full = fullTarget();
    try {
      CompactionJob job = begin(full > 0);
      if (job != null) {
        run(job);
        health.succeeded(Health.Activity.COMPACTING);
      }
      finished(full);
    } catch (CompactionJob.BrokenOff e) {
      finished(0);
    } catch (CompactionJob.DamagedInput e) {
      e.faults.forEach(
          (number, fault) ->
              LOG.error("compactions leave out table {}: {}", number, fault.getMessage()));
      damaged.putAll(e.faults);
      finished(full);
    } catch (IOException e) {
      health.failed(Health.Activity.COMPACTING, e);
      finished(0);
      pause();
    } catch (RuntimeException | Error e) {
      health.failedForGood("compacting tables", e);
      finished(0);
    }
  }

  /**
   * Returns the compaction that is due, or null. A damaged table is in no compaction, so one of
   * everything does nothing then. The job holds its own references to its inputs.
   */
  private CompactionJob begin(boolean everything) {
    Version version = versions.acquire();
    try {
      CompactionPolicy.Task task =
          everything ? CompactionPolicy.all(version.tables()) : pick(version.tables());
      return task == null || task.takesAny(damaged.keySet())
          ? null
          : new CompactionJob(
              directory, options, versions, task, workspace, () -> closing, traffic, published);
    } finally {
      VersionSet.releaseQuietly(version);
    }
  }

  /** Waits until a compaction is due. Returns false once the compactor is closing. */
  private boolean awaitWork() {
    lock.lock();
    try {
      while (!closing) {
        if (health.isWritable() && (fullDone < fullRequested || isDue())) {
          busy = true;
          return true;
        }
        changed.await(RESTING_MILLIS, TimeUnit.MILLISECONDS);
      }
      return false;
    } catch (InterruptedException e) {
      throw new AssertionError("threads of an engine are not interrupted", e);
    } finally {
      lock.unlock();
    }
  }

  private long fullTarget() {
    lock.lock();
    try {
      return fullDone < fullRequested ? fullRequested : 0;
    } finally {
      lock.unlock();
    }
  }

  private void finished(long full) {
    lock.lock();
    try {
      assert busy && full <= fullRequested;
      busy = false;
      fullDone = Math.max(fullDone, full);
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  private void pause() {
    lock.lock();
    try {
      if (!closing) {
        changed.await(RETRY_MILLIS, TimeUnit.MILLISECONDS);
      }
    } catch (InterruptedException e) {
      throw new AssertionError("threads of an engine are not interrupted", e);
    } finally {
      lock.unlock();
    }
  }

  private void run(CompactionJob job) throws IOException {
    long start = System.nanoTime();
    int level = job.task().level();
    long bytesBefore = traffic.written(level);
    job.run();
    long took = System.nanoTime() - start;
    report(job.task().inputs(), level, took, traffic.written(level) - bytesBefore);
    compactions.increment();
    nanos.add(took);
    nanosSinceLevel0 += took;
    if (job.level0Bytes() > 0) {
      // Includes the time of deeper compactions, because level 0 grows during them too.
      double rate = job.level0Bytes() * 1e9 / Math.max(1, nanosSinceLevel0);
      nanosSinceLevel0 = 0;
      level0Rate = level0Rate == 0 ? rate : level0Rate + RATE_WEIGHT * (rate - level0Rate);
    }
  }

  private static void report(List<Placed> inputs, int level, long nanos, long bytesOut) {
    int fromLevel = inputs.stream().mapToInt(placed -> placed.entry().level()).min().orElse(level);
    long bytesIn = inputs.stream().mapToLong(placed -> placed.entry().bytes()).sum();
    EventLog.compaction(nanos, fromLevel, level, inputs.size(), bytesIn, bytesOut);
  }

  /**
   * Returns the rate of recent compactions of level 0, in bytes a second; 0 before the first one.
   */
  @Override
  public double level0Rate() {
    return level0Rate;
  }

  @Override
  public int level0Trigger(TableSet tables) {
    return policy.level0Trigger(tables);
  }

  @Override
  public void checkNotBlocked(TableSet tables) {
    if (!damaged.isEmpty() && pick(tables) == null) {
      checkUndamaged();
    }
  }

  long compactions() {
    return compactions.sum();
  }

  /** Returns how urgent a compaction of this level is; at 1 or more it is due. */
  double score(TableSet tables, int level) {
    return policy.score(tables, level);
  }

  long nanos() {
    return nanos.sum();
  }

  /** Ends the running compaction early. */
  @Override
  public void close() {
    closing = true;
    tablesChanged();
    Threads.join(thread);
  }
}
