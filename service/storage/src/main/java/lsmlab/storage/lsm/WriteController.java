package lsmlab.storage.lsm;

import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import lsmlab.storage.CorruptionException;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.OverloadedException;
import lsmlab.storage.ReadOnlyException;
import lsmlab.storage.TreeStats.StallCause;
import lsmlab.storage.concurrent.RateLimit;
import lsmlab.storage.event.EventLog;
import lsmlab.storage.memtable.Memtable;
import lsmlab.storage.version.TableSet;
import lsmlab.storage.version.Version;
import lsmlab.storage.version.VersionSet;

/**
 * Holds writes back when flushes or compactions do not keep up. This bounds memory, the number of
 * tables that a lookup searches, and the disk space of tables that wait for compaction. Writes are
 * first slowed down, then stopped, then refused with an {@link OverloadedException}.
 *
 * <p>All writes together are paced to the lower of two rates.
 *
 * <ul>
 *   <li>For memory: once half of the memtables' memory is used, the rate falls as memory fills up,
 *       from four times the recent flush rate down to nine tenths of it.
 *   <li>For level 0: once it holds the number of tables at which a compaction is due, and at least
 *       {@value #LEVEL0_SLOW_MIN}, the rate falls with each further table. It begins at one and a
 *       half times the recent rate of level-0 compactions.
 * </ul>
 *
 * <p>Neither rate jumps. The measured rates are moving averages, and a write counts as soon as it
 * is accepted, because the active memtable counts as a fraction of a table. Only full memory, or
 * {@value #LEVEL0_STOP} tables in level 0, stops writes.
 */
final class WriteController {

  private static final int LEVEL0_SLOW_MIN = 8;
  private static final int LEVEL0_STOP = 36;
  private static final double LEVEL0_FASTEST = 1.5;
  private static final double LEVEL0_SLOPE = 2;
  private static final double LEVEL0_SLOWEST = 0.15;

  private static final double RATE_FIRST = 100e6;
  private static final double RATE_MIN = 1e6;
  private static final double FASTEST = 4.0;
  private static final double SLOWEST = 0.9;
  private static final double RATE_WEIGHT = 0.2;

  /** Longest sleep before a stopped write checks again whether it may proceed. */
  private static final long SLEEP_NANOS_MAX = 20_000_000;

  private final LsmOptions options;
  private final VersionSet versions;
  private final Health health;
  private final CompactionState compaction;
  private final Runnable sealer;
  private final WritePacer pacer = new WritePacer(RateLimit.Clock.SYSTEM);
  private final Map<StallCause, LongAdder> stallNanos = new EnumMap<>(StallCause.class);
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition roomMade = lock.newCondition();
  private volatile double flushRate = RATE_FIRST;

  // Guarded by lock: writes that wait for room, all writes that have waited in this stall, and when
  // it began.
  private int waiting;
  private int stalled;
  private long stallStart;

  /** The state of compaction, as far as it decides how fast writes may go. */
  interface CompactionState {
    /** Returns the number of level-0 tables at which a compaction is due. */
    int level0Trigger(TableSet tables);

    /**
     * Returns the rate of recent compactions of level 0, in bytes a second; 0 if it is not known.
     */
    double level0Rate();

    /**
     * Checks that damage does not keep these tables, which fill level 0, from being compacted.
     *
     * @throws CorruptionException if it does
     */
    void checkNotBlocked(TableSet tables);
  }

  /** State of level 0, computed once for each set of tables. */
  private record Level0(TableSet tables, int count, int slowFrom) {}

  private volatile Level0 level0 = new Level0(null, 0, LEVEL0_SLOW_MIN);

  /**
   * @param sealer seals the active memtable, or throws {@link ReadOnlyException} if the next log
   *     cannot be created
   */
  WriteController(
      LsmOptions options,
      VersionSet versions,
      Health health,
      CompactionState compaction,
      Runnable sealer) {
    this.options = options;
    this.versions = versions;
    this.health = health;
    this.compaction = compaction;
    this.sealer = sealer;
    for (StallCause cause : StallCause.values()) {
      stallNanos.put(cause, new LongAdder());
    }
  }

  /**
   * Returns once a write of this size may proceed.
   *
   * @throws OverloadedException if that takes longer than the options allow
   * @throws ReadOnlyException if the store takes no writes, or if memory or level 0 is full and
   *     flushes or compactions fail
   */
  void admit(long bytes) {
    health.checkWritable();
    Version version = versions.current();
    int sealed = version.sealedCount();
    Level0 top = level0(version.tables());
    if (sealed == 0
        && top.count() < top.slowFrom()
        && version.active().bytes() < options.flushThresholdBytes()) {
      return;
    }
    long start = System.nanoTime();
    boolean full = isFull(version, top);
    double filled =
        sealed + Math.min(1, (double) version.active().bytes() / options.flushThresholdBytes());
    double memoryRate = flushingRate(filled);
    double level0Rate = compactionRate(top, filled);
    boolean memory = full ? hasNoMemory(version) : memoryRate < level0Rate;
    try {
      if (full) {
        awaitRoom(start + TimeUnit.MILLISECONDS.toNanos(options.stallMillisMax()));
      } else {
        pacer.pace(bytes, Math.min(memoryRate, level0Rate));
      }
    } finally {
      stallNanos.get(cause(memory, full)).add(System.nanoTime() - start);
    }
  }

  private static StallCause cause(boolean memory, boolean full) {
    if (memory) {
      return full ? StallCause.MEMTABLES_FULL : StallCause.MEMTABLES_FILLING;
    }
    return full ? StallCause.LEVEL0_FULL : StallCause.LEVEL0_GROWING;
  }

  private Level0 level0(TableSet tables) {
    Level0 known = level0;
    if (known.tables() != tables) {
      int slowFrom = Math.max(LEVEL0_SLOW_MIN, compaction.level0Trigger(tables));
      known = new Level0(tables, tables.newestFirst().size(), slowFrom);
      level0 = known;
    }
    return known;
  }

  private boolean isFull(Version version, Level0 top) {
    return hasNoMemory(version)
        || (top.slowFrom() < Integer.MAX_VALUE && top.count() >= LEVEL0_STOP);
  }

  /**
   * Whether the memtables use all of their memory, which is enough for one active memtable and
   * {@code memtablesMax} sealed ones. While no new log can be created, no memtable is sealed, and
   * the active one may use the memory of the others.
   */
  private boolean hasNoMemory(Version version) {
    Memtable active = version.active();
    int room = Math.max(1, options.memtablesMax() + 1 - version.sealedCount());
    return active.bytes() >= options.flushThresholdBytes() * room
        || (active.isFull() && version.sealedCount() >= options.memtablesMax());
  }

  /**
   * Returns the write rate that memory allows, in bytes a second; infinite while less than half of
   * the memory is used.
   */
  private double flushingRate(double filled) {
    double pressure = Math.min(1, 2 * filled / (options.memtablesMax() + 1.0) - 1);
    return pressure <= 0
        ? Double.POSITIVE_INFINITY
        : flushRate * (FASTEST - (FASTEST - SLOWEST) * pressure);
  }

  /**
   * Returns the write rate that level 0 allows, in bytes a second; infinite while it holds few
   * tables.
   */
  private double compactionRate(Level0 top, double filled) {
    double over = (top.count() + filled - top.slowFrom()) / top.slowFrom();
    double rate = compaction.level0Rate();
    return over <= 0
        ? Double.POSITIVE_INFINITY
        : (rate == 0 ? flushRate : rate)
            * Math.max(LEVEL0_SLOWEST, LEVEL0_FASTEST - LEVEL0_SLOPE * over);
  }

  private void awaitRoom(long deadline) {
    boolean interrupted = false;
    lock.lock();
    beginStall();
    try {
      while (isFull()) {
        sealOverdue();
        checkNotFailing();
        long left = deadline - System.nanoTime();
        if (left <= 0) {
          throw overloaded();
        }
        try {
          // Bounded, because a merge makes room without a signal.
          roomMade.awaitNanos(Math.min(left, SLEEP_NANOS_MAX));
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } finally {
      boolean last = --waiting == 0;
      long nanos = System.nanoTime() - stallStart;
      int writes = stalled;
      lock.unlock();
      if (last) {
        EventLog.stall(nanos, writes);
      }
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private void beginStall() {
    assert lock.isHeldByCurrentThread() && waiting >= 0 : waiting;
    if (waiting++ == 0) {
      stallStart = System.nanoTime();
      stalled = 0;
    }
    stalled++;
  }

  /**
   * Tries again to seal a memtable that could not be sealed because the next log could not be
   * created. Releases the lock meanwhile, because sealing may sync.
   */
  private void sealOverdue() {
    Version version = versions.current();
    if (version.sealedCount() < options.memtablesMax() && hasNoMemory(version)) {
      lock.unlock();
      try {
        sealer.run();
      } finally {
        lock.lock();
      }
    }
  }

  private boolean isFull() {
    Version version = versions.current();
    return isFull(version, level0(version.tables()));
  }

  /**
   * Throws if flushes or compactions are failing, because waiting for them would then be pointless.
   */
  private void checkNotFailing() {
    health.checkNotFailing(Health.Activity.MAKING_LOG);
    health.checkNotFailing(Health.Activity.FLUSHING);
    health.checkNotFailing(Health.Activity.COMPACTING);
    Version version = versions.current();
    if (!hasNoMemory(version)) {
      try {
        compaction.checkNotBlocked(version.tables());
      } catch (CorruptionException e) {
        throw Health.readOnly(e);
      }
    }
  }

  private OverloadedException overloaded() {
    return new OverloadedException(
        "writes are held back: "
            + versions.current().sealedCount()
            + " memtables wait for a flush and "
            + versions.current().tables().newestFirst().size()
            + " tables for a compaction");
  }

  /** Reports that a memtable of {@code bytes} bytes was flushed in {@code nanos} nanoseconds. */
  void flushed(long bytes, long nanos) {
    double rate = bytes * 1e9 / Math.max(1, nanos) * options.flushThreads();
    flushRate = Math.max(RATE_MIN, flushRate + RATE_WEIGHT * (rate - flushRate));
  }

  /** Wakes stopped writes, because newly published tables may allow them to proceed. */
  void roomMade() {
    lock.lock();
    try {
      roomMade.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Returns the time for which writes were held back, by cause, summed over all threads. */
  Map<StallCause, Long> stallNanos() {
    Map<StallCause, Long> nanos = new EnumMap<>(StallCause.class);
    stallNanos.forEach((cause, adder) -> nanos.put(cause, adder.sum()));
    return nanos;
  }
}
