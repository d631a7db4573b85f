package lsmlab.storage.lsm;

import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.OverloadedException;
import lsmlab.storage.ReadOnlyException;
import lsmlab.storage.TreeStats.StallCause;
import lsmlab.storage.concurrent.RateLimit;
import lsmlab.storage.event.EventLog;
import lsmlab.storage.memtable.Memtable;

/**
 * Holds writes back when flushing or merging does not keep up, so that memory, the tables a reader has to ask and the
 * room that unmerged tables take stay bounded: smoothly at first, then altogether, then with an {@link
 * OverloadedException}.
 *
 * <p>Writes together are paced to the lower of two rates.
 *
 * <ul>
 *   <li>For memory: from half of the memtables' room on, a rate that falls with the room that is left, from four times the
 *       rate at which memtables have been flushed lately down to nine tenths of it.
 *   <li>For level 0: from the number of tables on at which a merge is due (at least {@value #LEVEL0_SLOW_MIN}), a rate that
 *       falls with each further one, from one and a half times the rate at which level 0 has been merged lately, so
 *       that what comes during a merge is about two thirds of what the merge takes away.
 * </ul>
 *
 * <p>Neither jumps: the measured rates move by a part with each flush and merge, the filling by single writes, as the
 * memtables count for the part of a table that they are going to be. Only a full memory, or {@value #LEVEL0_STOP} tables,
 * stop writes altogether.
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

  /** Longest wait for room before the writer looks again. */
  private static final long SLEEP_NANOS_MAX = 20_000_000;

  private final LsmOptions options;
  private final VersionSet versions;
  private final Health health;
  private final Merging merging;
  private final Runnable sealer;
  private final WritePacer pacer = new WritePacer(RateLimit.Clock.SYSTEM);
  private final Map<StallCause, LongAdder> stallNanos = new EnumMap<>(StallCause.class);
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition roomMade = lock.newCondition();
  private volatile double flushRate = RATE_FIRST;

  // Guarded by lock: writes that wait for room, all that have waited since the first of them, and
  // since when.
  private int waiting;
  private int stalled;
  private long stallStart;

  /** What it has to know of merging. */
  interface Merging {
    /** Tables of level 0 that make a merge due. */
    int level0Trigger(TableSet tables);

    /** Bytes of level 0 merged in a second of merging, lately; 0 if that is not known. */
    double level0Rate();
  }

  /** What to know of the tables, worked out once for each set of them. */
  private record Level0(TableSet tables, int count, int slowFrom) {}

  private volatile Level0 level0 = new Level0(null, 0, LEVEL0_SLOW_MIN);

  /**
   * @param sealer seals the active memtable; throws {@link ReadOnlyException} if no log can be made for the next one
   */
  WriteController(
      LsmOptions options, VersionSet versions, Health health, Merging merging, Runnable sealer) {
    this.options = options;
    this.versions = versions;
    this.health = health;
    this.merging = merging;
    this.sealer = sealer;
    for (StallCause cause : StallCause.values()) {
      stallNanos.put(cause, new LongAdder());
    }
  }

  /**
   * Returns when a write of this size may go ahead.
   *
   * @throws OverloadedException if that took longer than the options allow
   * @throws ReadOnlyException if the store takes no writes, or there is no room and making some fails
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
    double flushing = flushingRate(filled);
    double merging = mergingRate(top, filled);
    boolean memory = full ? hasNoMemory(version) : flushing < merging;
    try {
      if (full) {
        awaitRoom(start + TimeUnit.MILLISECONDS.toNanos(options.stallMillisMax()));
      } else {
        pacer.pace(bytes, Math.min(flushing, merging));
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
      int slowFrom = Math.max(LEVEL0_SLOW_MIN, merging.level0Trigger(tables));
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
   * Whether the memtables have all the room they may have. Usually that is one active and {@code memtablesMax} sealed ones;
   * but while no new log can be made none is sealed, and the active one grows into the room of the others.
   */
  private boolean hasNoMemory(Version version) {
    Memtable active = version.active();
    int room = Math.max(1, options.memtablesMax() + 1 - version.sealedCount());
    return active.bytes() >= options.flushThresholdBytes() * room
        || (active.isFull() && version.sealedCount() >= options.memtablesMax());
  }

  /** The rate for memory, in bytes a second; infinite while there is plenty. */
  private double flushingRate(double filled) {
    double pressure = Math.min(1, 2 * filled / (options.memtablesMax() + 1.0) - 1);
    return pressure <= 0
        ? Double.POSITIVE_INFINITY
        : flushRate * (FASTEST - (FASTEST - SLOWEST) * pressure);
  }

  /** The rate for level 0, in bytes a second; infinite while it is short. */
  private double mergingRate(Level0 top, double filled) {
    double over = (top.count() + filled - top.slowFrom()) / top.slowFrom();
    double rate = merging.level0Rate();
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
        checkHopeful();
        long left = deadline - System.nanoTime();
        if (left <= 0) {
          throw overloaded();
        }
        try {
          // Bounded, because merging makes room without a signal.
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

  /** If the active memtable could not be sealed, because no log could be made for the next one, tries that again. */
  private void sealOverdue() {
    Version version = versions.current();
    if (version.sealedCount() < options.memtablesMax() && hasNoMemory(version)) {
      sealer.run();
    }
  }

  private boolean isFull() {
    Version version = versions.current();
    return isFull(version, level0(version.tables()));
  }

  /** What makes room fails: waiting for it would only delay the news. */
  private void checkHopeful() {
    health.checkHopeful(Health.Activity.MAKING_LOG);
    health.checkHopeful(Health.Activity.FLUSHING);
    health.checkHopeful(Health.Activity.MERGING);
  }

  private OverloadedException overloaded() {
    return new OverloadedException(
        "writes are held back: "
            + versions.current().sealedCount()
            + " memtables wait for a flush and "
            + versions.current().tables().newestFirst().size()
            + " tables for a merge");
  }

  /** A memtable of that many bytes was flushed in that time. */
  void flushed(long bytes, long nanos) {
    double rate = bytes * 1e9 / Math.max(1, nanos) * options.flushThreads();
    flushRate = Math.max(RATE_MIN, flushRate + RATE_WEIGHT * (rate - flushRate));
  }

  /** Something was published: writers that wait look again. */
  void roomMade() {
    lock.lock();
    try {
      roomMade.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Time that writers have spent held back, by cause, in all threads together. */
  Map<StallCause, Long> stallNanos() {
    Map<StallCause, Long> nanos = new EnumMap<>(StallCause.class);
    stallNanos.forEach((cause, adder) -> nanos.put(cause, adder.sum()));
    return nanos;
  }
}
