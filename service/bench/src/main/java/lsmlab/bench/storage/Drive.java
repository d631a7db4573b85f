package lsmlab.bench.storage;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Supplier;
import org.HdrHistogram.Histogram;

/** Runs threads that repeat one operation until they reach a limit. */
final class Drive {

  /** One operation of one thread. */
  @FunctionalInterface
  interface Operation {
    /**
     * Executes the operation with 64 random bits. Returns the bytes of the pair that was read or
     * written.
     */
    int run(long bits);
  }

  /** Limits of a thread. It ends at the first one that it reaches. */
  record Limit(long nanos, long operations, long bytes) {

    static Limit seconds(long seconds) {
      return new Limit(seconds * 1_000_000_000L, Long.MAX_VALUE, Long.MAX_VALUE);
    }

    Limit orOperations(long number) {
      return new Limit(nanos, number, bytes);
    }

    static Limit bytes(long number) {
      return new Limit(Long.MAX_VALUE, Long.MAX_VALUE, number);
    }
  }

  /**
   * Results of all threads together.
   *
   * @param perSecond operations a second, summed over the rates of all threads
   * @param allocated bytes allocated in the heap
   * @param latency nanoseconds, one value an operation; empty if not timed
   */
  record Result(long operations, long bytes, double perSecond, long allocated, Histogram latency) {}

  /** Operations between two readings of the clock in an untimed run. */
  private static final int BATCH = 256;

  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  private Drive() {}

  /** Runs one thread and times every operation. */
  static Result timed(long seed, Limit limit, Supplier<Operation> operation)
      throws InterruptedException {
    return run(1, seed, limit, true, operation);
  }

  /**
   * Runs threads.
   *
   * @param seed thread i draws its random bits from {@code seed + i}
   * @param timed whether to read the clock after each operation
   * @param operations makes the operation of each thread
   */
  static Result run(
      int threads, long seed, Limit limit, boolean timed, Supplier<Operation> operations)
      throws InterruptedException {
    CountDownLatch start = new CountDownLatch(threads);
    List<Callable<Result>> tasks = new ArrayList<>();
    for (int thread = 0; thread < threads; thread++) {
      long state = Pairs.mix(seed + thread);
      tasks.add(
          () -> {
            Operation operation = operations.get();
            start.countDown();
            start.await();
            return repeat(operation, state, limit, timed);
          });
    }
    Histogram latency = histogram();
    long count = 0;
    long bytes = 0;
    long allocated = 0;
    double perSecond = 0;
    try (ExecutorService pool = Executors.newFixedThreadPool(threads)) {
      for (Future<Result> each : pool.invokeAll(tasks)) {
        Result result = each.get();
        count += result.operations;
        bytes += result.bytes;
        allocated += result.allocated;
        perSecond += result.perSecond;
        latency.add(result.latency);
      }
    } catch (ExecutionException e) {
      throw new IllegalStateException("an operation failed: " + e.getCause(), e.getCause());
    }
    return new Result(count, bytes, perSecond, allocated, latency);
  }

  private static Result repeat(Operation operation, long seed, Limit limit, boolean timed) {
    Histogram latency = histogram();
    int batch = timed ? 1 : BATCH;
    long state = seed;
    long count = 0;
    long bytes = 0;
    long allocatedBefore = THREADS.getCurrentThreadAllocatedBytes();
    long start = System.nanoTime();
    long before = start;
    while (before - start < limit.nanos && count < limit.operations && bytes < limit.bytes) {
      for (int i = 0; i < batch; i++) {
        state += 0x9e3779b97f4a7c15L;
        bytes += operation.run(Pairs.mix(state));
      }
      count += batch;
      long now = System.nanoTime();
      if (timed) {
        latency.recordValue(now - before);
      }
      before = now;
    }
    long allocated = THREADS.getCurrentThreadAllocatedBytes() - allocatedBefore;
    return new Result(count, bytes, count * 1e9 / (before - start), allocated, latency);
  }

  /** Returns a histogram of nanoseconds, with three digits and without an upper limit. */
  static Histogram histogram() {
    Histogram histogram = new Histogram(3);
    histogram.setAutoResize(true);
    return histogram;
  }
}
