package lsmlab.server.variant;

import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import lsmlab.server.request.Request;

/**
 * Runs requests as {@link SyncVariant} does, and burns CPU, allocates, waits for locks or pauses in methods of these
 * names. It counts what each method really took, and prints all counters ten times a second as one line of JSON that
 * begins with {@code planted}.
 */
final class PlantedVariant implements Variant {

  static final String SUMMARY = "as sync, with planted hot spots or pauses; for tests of the profiler";

  private static final com.sun.management.OperatingSystemMXBean PROCESS =
      (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
  private static final com.sun.management.ThreadMXBean THREADS =
      (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();

  /** Part of the process's CPU time that {@link #burn} takes. */
  private static final double BURNT_SHARE = 0.3;

  private static final double ALLOCATED_BYTES_PER_SECOND = 40e6;
  private static final int ARRAY_BYTES = 4_096;
  private static final int ARRAY_HEADER_BYTES = 16;
  private static final long PAUSE_NANOS = 200_000_000;
  private static final long BETWEEN_PAUSES_NANOS = 5_000_000_000L;
  private static final int REQUESTS_BETWEEN = 32;
  private static final long BURN_NANOS_MAX = 5_000_000;

  private static volatile long sink;
  private static volatile byte[] kept;

  private final AtomicLong requests = new AtomicLong();
  private final AtomicBoolean planting = new AtomicBoolean();
  private final AtomicLong burnNanos = new AtomicLong();
  private final AtomicLong hotBytes = new AtomicLong();
  private final AtomicLong hotWaitNanos = new AtomicLong();
  private final AtomicLong coldWaitNanos = new AtomicLong();
  private final AtomicLong pauses = new AtomicLong();
  private final long startNanos = System.nanoTime();
  private final long startCpuNanos = PROCESS.getProcessCpuTime();
  private final boolean hot;
  private final boolean pausing;
  private final boolean sleeping;
  private final ReentrantLock lockOfAll = new ReentrantLock();
  private long pausedNanos = startNanos;
  private volatile boolean closed;

  private PlantedVariant(boolean hot, boolean pausing, boolean sleeping) {
    this.hot = hot;
    this.pausing = pausing;
    this.sleeping = sleeping;
    if (hot) {
      ReentrantLock often = new ReentrantLock();
      ReentrantLock seldom = new ReentrantLock();
      run("planted-holder-1", () -> hold(often, 8_000));
      run("planted-waiter-1", () -> waitHot(often));
      run("planted-holder-2", () -> hold(seldom, 2_000));
      run("planted-waiter-2", () -> waitCold(seldom));
    }
    run("planted-counters", this::print);
  }

  static PlantedVariant hot(VariantSettings settings) {
    return new PlantedVariant(true, false, false);
  }

  static PlantedVariant pausing(VariantSettings settings) {
    return new PlantedVariant(false, true, false);
  }

  static PlantedVariant sleeping(VariantSettings settings) {
    return new PlantedVariant(false, false, true);
  }

  @Override
  public void submit(Request request) {
    if (sleeping) {
      sleepWithLock();
    }
    request.run();
    if (requests.incrementAndGet() % REQUESTS_BETWEEN == 0 && planting.compareAndSet(false, true)) {
      if (hot) {
        long due = (long) (BURNT_SHARE * (PROCESS.getProcessCpuTime() - startCpuNanos)) - burnNanos.get();
        if (due > 0) {
          burn(Math.min(due, BURN_NANOS_MAX));
        }
        double seconds = (System.nanoTime() - startNanos) / 1e9;
        allocate((long) (ALLOCATED_BYTES_PER_SECOND * seconds) - hotBytes.get());
      }
      if (pausing && System.nanoTime() - pausedNanos >= BETWEEN_PAUSES_NANOS) {
        pausedNanos = System.nanoTime();
        pause();
      }
      planting.set(false);
    }
  }

  private void burn(long nanos) {
    long start = THREADS.getCurrentThreadCpuTime();
    long now = start;
    while (now < start + nanos) {
      long x = sink;
      for (int i = 0; i < 20_000; i++) {
        x = x * 31 + i;
      }
      sink = x;
      now = THREADS.getCurrentThreadCpuTime();
    }
    burnNanos.addAndGet(now - start);
  }

  private void allocate(long bytes) {
    long allocated = 0;
    while (allocated < bytes) {
      kept = new byte[ARRAY_BYTES];
      allocated += ARRAY_BYTES + ARRAY_HEADER_BYTES;
    }
    hotBytes.addAndGet(allocated);
  }

  private void pause() {
    long end = System.nanoTime() + PAUSE_NANOS;
    while (System.nanoTime() < end) {
      sink = sink * 31 + 1;
    }
    pauses.incrementAndGet();
  }

  /** Each request takes the lock; now and then its holder sleeps, and the other selectors wait. */
  private void sleepWithLock() {
    lockOfAll.lock();
    try {
      if (System.nanoTime() - pausedNanos >= BETWEEN_PAUSES_NANOS) {
        pausedNanos = System.nanoTime();
        Thread.sleep(Duration.ofNanos(PAUSE_NANOS));
        pauses.incrementAndGet();
      }
    } catch (InterruptedException e) {
      throw new AssertionError("nobody interrupts it", e);
    } finally {
      lockOfAll.unlock();
    }
  }

  private void waitHot(ReentrantLock lock) {
    long start = System.nanoTime();
    lock.lock();
    hotWaitNanos.addAndGet(System.nanoTime() - start);
    lock.unlock();
    sleepMicros(1_000);
  }

  private void waitCold(ReentrantLock lock) {
    long start = System.nanoTime();
    lock.lock();
    coldWaitNanos.addAndGet(System.nanoTime() - start);
    lock.unlock();
    sleepMicros(1_000);
  }

  /** Holds for up to twice this mean, so that no rhythm of the profiler's falls together with it. */
  private static void hold(ReentrantLock lock, long meanMicros) {
    lock.lock();
    try {
      sleepMicros(1 + ThreadLocalRandom.current().nextLong(2 * meanMicros));
    } finally {
      lock.unlock();
    }
    sleepMicros(2_000);
  }

  private void print() {
    System.err.printf(
        "planted {\"at_ms\":%d,\"process_ns\":%d,\"burn_ns\":%d,\"all_bytes\":%d,\"hot_bytes\":%d,"
            + "\"hot_wait_ns\":%d,\"cold_wait_ns\":%d,\"pauses\":%d}%n",
        System.currentTimeMillis(),
        PROCESS.getProcessCpuTime(),
        burnNanos.get(),
        THREADS.getTotalThreadAllocatedBytes(),
        hotBytes.get(),
        hotWaitNanos.get(),
        coldWaitNanos.get(),
        pauses.get());
    sleepMicros(100_000);
  }

  private static void sleepMicros(long micros) {
    try {
      Thread.sleep(micros / 1_000, (int) (micros % 1_000) * 1_000);
    } catch (InterruptedException e) {
      throw new AssertionError("nobody interrupts it", e);
    }
  }

  private void run(String name, Runnable work) {
    Thread thread =
        new Thread(
            () -> {
              while (!closed) {
                work.run();
              }
            },
            name);
    thread.setDaemon(true);
    thread.start();
  }

  @Override
  public int queueDepth() {
    return 0;
  }

  @Override
  public int queueCapacity() {
    return 0;
  }

  @Override
  public void close() {
    closed = true;
  }
}
