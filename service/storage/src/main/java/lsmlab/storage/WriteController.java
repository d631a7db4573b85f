package lsmlab.storage;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Holds writes back when flushing or merging does not keep up, so that memory, and the tables a reader has to ask, stay
 * bounded: smoothly at first, then altogether, then with an {@link OverloadedException}.
 *
 * <p>The pressure is 0 while up to half of the memtables' room is taken and level 0 is short, and 1 where either limit is
 * reached. In between, writes together are paced to a rate that falls as the pressure rises, from four times the
 * rate at which memtables have been flushed lately down to nine tenths of it: at a steady load the pressure settles
 * where writes arrive as fast as they are flushed. The rate moves by a fifth with each flush and the pressure by single
 * writes, so neither jumps.
 */
final class WriteController {

  private static final double RATE_FIRST = 100e6;
  private static final double RATE_MIN = 1e6;
  private static final double FASTEST = 4.0;
  private static final double SLOWEST = 0.9;
  private static final double RATE_WEIGHT = 0.2;

  /** Shorter delays are saved up: a sleep takes at least some 60 µs. */
  private static final long SLEEP_NANOS_MIN = 200_000;

  private static final long SLEEP_NANOS_MAX = 20_000_000;

  private final LsmOptions options;
  private final Versions versions;
  private final Health health;
  private final long capacityBytes;
  private final AtomicLong paidUntil = new AtomicLong(System.nanoTime());
  private final LongAdder stallNanos = new LongAdder();
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition roomMade = lock.newCondition();
  private volatile double flushRate = RATE_FIRST;

  WriteController(LsmOptions options, Versions versions, Health health) {
    this.options = options;
    this.versions = versions;
    this.health = health;
    this.capacityBytes = options.flushThresholdBytes() * (options.memtablesMax() + 1L);
  }

  /**
   * Returns when a write of this size may go ahead.
   *
   * @throws OverloadedException if that took longer than the options allow
   * @throws ReadOnlyException if the store takes no writes, or there is no room and making some fails
   */
  void admit(long bytes) {
    health.checkWritable();
    double pressure = pressure();
    if (pressure <= 0) {
      return;
    }
    long start = System.nanoTime();
    if (pressure >= 1) {
      awaitRoom(start + TimeUnit.MILLISECONDS.toNanos(options.stallMillisMax()));
    } else {
      pace(bytes, pressure, start);
    }
    stallNanos.add(System.nanoTime() - start);
  }

  private double pressure() {
    Version version = versions.current();
    int sealed = version.sealedCount();
    double ofTables = 0;
    int tables = version.tables().newestFirst().size();
    if (options.compaction() && tables > Compactor.LEVEL0_SLOW) {
      ofTables =
          (double) (tables - Compactor.LEVEL0_SLOW)
              / (Compactor.LEVEL0_STOP - Compactor.LEVEL0_SLOW);
    }
    if (sealed == 0) {
      return ofTables;
    }
    long active = version.active().bytes();
    long threshold = options.flushThresholdBytes();
    if (sealed >= options.memtablesMax() && (active >= threshold || version.active().isFull())) {
      return 1;
    }
    double fill = (sealed * (double) threshold + Math.min(active, threshold)) / capacityBytes;
    return Math.max(ofTables, Math.min(0.999, 2 * fill - 1));
  }

  private void pace(long bytes, double pressure, long now) {
    double rate = flushRate * (FASTEST - (FASTEST - SLOWEST) * pressure);
    long cost = (long) (bytes * 1e9 / rate);
    long until = paidUntil.updateAndGet(paid -> Math.max(paid, now) + cost);
    if (until - now >= SLEEP_NANOS_MIN) {
      LockSupport.parkNanos(Math.min(until - now, SLEEP_NANOS_MAX));
    }
  }

  private void awaitRoom(long deadline) {
    boolean interrupted = false;
    lock.lock();
    try {
      while (pressure() >= 1) {
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
      lock.unlock();
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
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

  /** Time that writers have spent held back, in all threads together. */
  long stallNanos() {
    return stallNanos.sum();
  }
}
