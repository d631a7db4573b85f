package lsmlab.bench.workload;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import lsmlab.bench.Pairs;
import lsmlab.storage.Durability;
import lsmlab.storage.Engine;
import lsmlab.storage.Scan;

/**
 * Random GETs on the loaded store, all of it in memory: each engine reads everything once before it is measured. A GET
 * returns the value in an array of its own, and its length is checked every time, its bytes during the warm-up.
 */
final class GetWorkload implements Workload {

  private static final int BATCH = 512;
  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  /** What one thread did. */
  record Share(long operations, long nanos, long valueBytes, long allocatedBytes) {}

  @Override
  public Outcome run(Context context) throws InterruptedException {
    int warmup = context.settings().warmupSeconds();
    int seconds = context.settings().seconds();
    Map<String, Double> figures = new LinkedHashMap<>();
    try (Engine engine =
        context.open(context.settings().base(context.engine()), Durability.PROCESS)) {
      readEverything(engine, context.pairs());
      reads(context, engine, true, true, 2, warmup);
      reads(context, engine, false, false, 2, warmup);
      reads(context, engine, true, false, 1, warmup);

      List<Share> single = reads(context, engine, true, false, 1, seconds);
      figures.put("get_present_1t", perSecond(single));
      Share share = single.getFirst();
      figures.put(
          "get_allocated_beyond_value",
          (double) (share.allocatedBytes() - share.valueBytes()) / share.operations());
      figures.put("get_present_2t", perSecond(reads(context, engine, true, false, 2, seconds)));
      figures.put("get_absent_1t", perSecond(reads(context, engine, false, false, 1, seconds)));
    }
    return Outcome.of(figures);
  }

  private static void readEverything(Engine engine, Pairs pairs) {
    int seen = 0;
    try (Scan scan = engine.scan(new byte[] {0}, null)) {
      while (scan.next()) {
        seen++;
      }
    }
    if (seen != pairs.count()) {
      throw new IllegalStateException(
          "the store holds " + seen + " pairs instead of " + pairs.count() + ": remove it");
    }
  }

  static double perSecond(List<Share> shares) {
    return shares.stream().mapToDouble(s -> s.operations() * 1e9 / s.nanos()).sum();
  }

  private static List<Share> reads(
      Context context, Engine engine, boolean present, boolean verify, int threads, int seconds)
      throws InterruptedException {
    long seed = context.settings().seed();
    return reads(context, engine, present, verify, threads, seconds, seed);
  }

  /**
   * Reads with so many threads for so long.
   *
   * @param seed of the order of keys: thread i goes through the one of {@code seed + i}
   */
  static List<Share> reads(
      Context context,
      Engine engine,
      boolean present,
      boolean verify,
      int threads,
      int seconds,
      long seed)
      throws InterruptedException {
    CountDownLatch start = new CountDownLatch(threads);
    List<Callable<Share>> tasks = new ArrayList<>();
    for (int thread = 0; thread < threads; thread++) {
      long order = Pairs.mix(seed + thread);
      tasks.add(
          () -> {
            start.countDown();
            start.await();
            return read(engine, context.pairs(), present, verify, order, seconds * 1_000_000_000L);
          });
    }
    List<Share> shares = new ArrayList<>();
    try (ExecutorService pool = Executors.newFixedThreadPool(threads)) {
      for (Future<Share> share : pool.invokeAll(tasks)) {
        shares.add(share.get());
      }
    } catch (ExecutionException e) {
      throw new IllegalStateException("a reader failed: " + e.getCause(), e.getCause());
    }
    return shares;
  }

  private static Share read(
      Engine engine, Pairs pairs, boolean present, boolean verify, long seed, long nanos) {
    byte[] key = new byte[present ? Pairs.KEY_BYTES : Pairs.KEY_BYTES + 1];
    int count = pairs.count();
    long state = seed;
    long operations = 0;
    long valueBytes = 0;
    long allocatedBefore = THREADS.getCurrentThreadAllocatedBytes();
    long start = System.nanoTime();
    long elapsed = 0;
    while (elapsed < nanos) {
      for (int i = 0; i < BATCH; i++) {
        state += 0x9e3779b97f4a7c15L;
        int number = (int) Math.unsignedMultiplyHigh(Pairs.mix(state), count);
        if (present) {
          Pairs.key(key, number);
        } else {
          Pairs.absentKey(key, number);
        }
        byte[] value = engine.get(key);
        int length = value == null ? -1 : value.length;
        if (length != (present ? pairs.valueLength(number, 0) : -1)
            || (verify && !pairs.isValue(value, number, 0))) {
          throw new IllegalStateException("wrong answer for " + Pairs.keyText(number));
        }
        valueBytes += Math.max(0, length);
      }
      operations += BATCH;
      elapsed = System.nanoTime() - start;
    }
    long allocated = THREADS.getCurrentThreadAllocatedBytes() - allocatedBefore;
    return new Share(operations, elapsed, valueBytes, allocated);
  }
}
