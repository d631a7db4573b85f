import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Burns CPU, allocates and waits for locks in methods of these names, and counts what each of them really took.
 * Prints the counters, as one line of JSON, for each line that it reads.
 */
public final class HotSpots {

  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
  private static final com.sun.management.OperatingSystemMXBean PROCESS =
      (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
  private static final int ARRAY_BYTES = 4_096;
  private static final int ARRAY_HEADER_BYTES = 16;

  private static final AtomicLong BURN_NANOS = new AtomicLong();
  private static final AtomicLong REST_NANOS = new AtomicLong();
  private static final AtomicLong HOT_BYTES = new AtomicLong();
  private static final AtomicLong COLD_BYTES = new AtomicLong();
  private static final AtomicLong HOT_WAIT_NANOS = new AtomicLong();
  private static final AtomicLong COLD_WAIT_NANOS = new AtomicLong();

  private static volatile long sink;
  private static volatile byte[] kept;

  private HotSpots() {}

  private static void burn(long nanos) {
    long start = THREADS.getCurrentThreadCpuTime();
    long now = start;
    while (now < start + nanos) {
      sink = compute();
      now = THREADS.getCurrentThreadCpuTime();
    }
    BURN_NANOS.addAndGet(now - start);
  }

  private static void rest(long nanos) {
    long start = THREADS.getCurrentThreadCpuTime();
    long now = start;
    while (now < start + nanos) {
      sink = compute();
      now = THREADS.getCurrentThreadCpuTime();
    }
    REST_NANOS.addAndGet(now - start);
  }

  private static long compute() {
    long x = sink;
    for (int i = 0; i < 20_000; i++) {
      x = x * 31 + i;
    }
    return x;
  }

  private static void allocateHot(int arrays) {
    for (int i = 0; i < arrays; i++) {
      kept = new byte[ARRAY_BYTES];
    }
    HOT_BYTES.addAndGet((long) arrays * (ARRAY_BYTES + ARRAY_HEADER_BYTES));
  }

  private static void allocateCold(int arrays) {
    for (int i = 0; i < arrays; i++) {
      kept = new byte[ARRAY_BYTES];
    }
    COLD_BYTES.addAndGet((long) arrays * (ARRAY_BYTES + ARRAY_HEADER_BYTES));
  }

  private static void waitHot(ReentrantLock lock) {
    long start = System.nanoTime();
    lock.lock();
    HOT_WAIT_NANOS.addAndGet(System.nanoTime() - start);
    lock.unlock();
  }

  private static void waitCold(ReentrantLock lock) {
    long start = System.nanoTime();
    lock.lock();
    COLD_WAIT_NANOS.addAndGet(System.nanoTime() - start);
    lock.unlock();
  }

  /** Up to twice this mean, so that no rhythm of the profiler's falls together with it. */
  private static long about(long mean) {
    return 1 + ThreadLocalRandom.current().nextLong(2 * mean);
  }

  private static void sleepMicros(long micros) throws InterruptedException {
    Thread.sleep(micros / 1_000, (int) (micros % 1_000) * 1_000);
  }

  private interface Work {
    void once() throws InterruptedException;
  }

  private static void run(String name, Work work) {
    Thread thread =
        new Thread(
            () -> {
              try {
                while (true) {
                  work.once();
                }
              } catch (InterruptedException e) {
                throw new AssertionError("nobody interrupts it", e);
              }
            },
            name);
    thread.setDaemon(true);
    thread.start();
  }

  private static void holder(ReentrantLock lock, long heldMicros) {
    run(
        "holder",
        () -> {
          lock.lock();
          try {
            sleepMicros(about(heldMicros));
          } finally {
            lock.unlock();
          }
          sleepMicros(2_000);
        });
  }

  public static void main(String[] args) throws Exception {
    run(
        "burner",
        () -> {
          burn(about(3_000_000));
          rest(about(7_000_000));
        });
    run(
        "allocator",
        () -> {
          allocateHot((int) about(75));
          allocateCold((int) about(25));
          sleepMicros(2_000);
        });
    ReentrantLock hot = new ReentrantLock();
    ReentrantLock cold = new ReentrantLock();
    holder(hot, 8_000);
    holder(cold, 2_000);
    run(
        "waiter-hot",
        () -> {
          waitHot(hot);
          sleepMicros(1_000);
        });
    run(
        "waiter-cold",
        () -> {
          waitCold(cold);
          sleepMicros(1_000);
        });
    System.out.println("ready");
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    while (in.readLine() != null) {
      System.out.printf(
          "{\"burn_ns\":%d,\"rest_ns\":%d,\"process_ns\":%d,\"hot_bytes\":%d,\"cold_bytes\":%d,"
              + "\"hot_wait_ns\":%d,\"cold_wait_ns\":%d}%n",
          BURN_NANOS.get(),
          REST_NANOS.get(),
          PROCESS.getProcessCpuTime(),
          HOT_BYTES.get(),
          COLD_BYTES.get(),
          HOT_WAIT_NANOS.get(),
          COLD_WAIT_NANOS.get());
    }
  }
}
