package lsmlab.bench.storage;

import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntConsumer;
import java.util.function.Supplier;
import lsmlab.bench.storage.Drive.Limit;
import lsmlab.bench.storage.Drive.Operation;
import lsmlab.bench.storage.Drive.Result;
import lsmlab.storage.Durability;
import lsmlab.storage.Engine;
import lsmlab.storage.OverloadedException;
import org.HdrHistogram.Histogram;

/** Workloads that write. An interval includes the flushes and compactions that happen in it. */
final class WriteWorkloads {

  /** Number of parts of the overwrite, whose rates and write amplifications are compared. */
  static final int PARTS = 10;

  /** Parts are compared only if the bytes of a part are at least this share of the bytes of all pairs. */
  private static final double COMPARABLE = 0.9;

  private static final int PUT_LIMIT_INTERVALS = 10;
  private static final int SYNC_WRITERS = 64;
  private static final int MIXED_THREADS = 2;
  private static final long RETRY_NANOS = 100_000;
  private static final int STILL_SECONDS = 2;
  private static final int STILL_SECONDS_MAX = 60;

  private WriteWorkloads() {}

  /**
   * One thread puts every pair once, in random order, into an empty store, then deletes all in the
   * same order, with process durability. Both end after ten intervals at the latest.
   */
  static Map<String, Double> put(Context context) throws IOException, InterruptedException {
    putAndDelete(context, context.settings().warmupSeconds());
    Stores.delete(context.scratch());
    return putAndDelete(context, PUT_LIMIT_INTERVALS * context.settings().seconds());
  }

  private static Map<String, Double> putAndDelete(Context context, int secondsMax)
      throws InterruptedException {
    Pairs pairs = context.pairs();
    Map<String, Double> figures = new LinkedHashMap<>();
    try (Engine engine = context.open(context.scratch(), Durability.PROCESS)) {
      Limit limit = Limit.seconds(secondsMax).orOperations(pairs.count());
      Result puts =
          Drive.timed(0, limit, () -> inOrder(pairs, new Writer(engine, pairs)::putFirst));
      figures.put("put_process_1t", puts.perSecond());
      figures.put("put_process_p99", puts.latency().getValueAtPercentile(99) / 1e3);
      figures.put("put_allocated", (double) puts.allocated() / puts.operations());
      Limit done = Limit.seconds(secondsMax).orOperations(puts.operations());
      Result deletes =
          Drive.timed(0, done, () -> inOrder(pairs, new Writer(engine, pairs)::delete));
      figures.put("delete_process_1t", deletes.perSecond());
      if (new Writer(engine, pairs).isPresent(pairs.shuffled(0))) {
        throw new IllegalStateException("a deleted key is still there");
      }
    }
    return figures;
  }

  private static Operation inOrder(Pairs pairs, IntConsumer write) {
    int[] next = {0};
    return bits -> {
      int number = pairs.shuffled(next[0]++);
      write.accept(number);
      return Pairs.KEY_BYTES + pairs.valueLength(number, 0);
    };
  }

  /**
   * Writers put random pairs into an empty store, with power durability: each waits until its write
   * is synced.
   */
  static Map<String, Double> sync(Context context) throws InterruptedException {
    Settings settings = context.settings();
    Pairs pairs = context.pairs();
    try (Engine engine = context.open(context.scratch(), Durability.POWER)) {
      Supplier<Operation> put = () -> putAtRandom(engine, pairs);
      Limit warmup = Limit.seconds(settings.warmupSeconds());
      Drive.run(SYNC_WRITERS, settings.seed(), warmup, true, put);
      Limit measured = Limit.seconds(settings.seconds());
      Result result = Drive.run(SYNC_WRITERS, settings.seed() + SYNC_WRITERS, measured, true, put);
      Map<String, Double> figures = new LinkedHashMap<>();
      figures.put("put_power_64t", result.perSecond());
      figures.put("put_power_p99", result.latency().getValueAtPercentile(99) / 1e6);
      return figures;
    }
  }

  /**
   * Threads GET and PUT random pairs of the loaded store, half of each, with process durability.
   */
  static Map<String, Double> mixed(Context context) throws IOException, InterruptedException {
    Settings settings = context.settings();
    Stores.copy(context.base(), context.scratch());
    try (Engine engine = context.open(context.scratch(), Durability.PROCESS)) {
      Supplier<Operation> mixed = () -> getOrPut(engine, context.pairs());
      Limit warmup = Limit.seconds(settings.warmupSeconds());
      Drive.run(MIXED_THREADS, settings.seed(), warmup, true, mixed);
      Limit measured = Limit.seconds(settings.seconds());
      Result result =
          Drive.run(MIXED_THREADS, settings.seed() + MIXED_THREADS, measured, true, mixed);
      Map<String, Double> figures = new LinkedHashMap<>();
      figures.put("mixed_2t", result.perSecond());
      figures.put("mixed_p99", result.latency().getValueAtPercentile(99) / 1e3);
      return figures;
    }
  }

  private static Operation getOrPut(Engine engine, Pairs pairs) {
    Operation put = putAtRandom(engine, pairs);
    byte[] key = new byte[Pairs.KEY_BYTES];
    return bits -> {
      if (bits < 0) {
        return put.run(bits << 1);
      }
      Pairs.key(key, pairs.uniform(bits << 1));
      byte[] value = engine.get(key);
      if (value == null) {
        throw new IllegalStateException("a pair is lost");
      }
      return value.length;
    };
  }

  /**
   * One thread overwrites random pairs of the loaded store as fast as the engine accepts them,
   * until a number of bytes is written. Write amplification is the bytes that the process passes to
   * write calls, divided by the bytes of acknowledged keys and values. The total includes all
   * writes until the engine is at rest. Space amplification is the size of the store, sampled once
   * a second, divided by the size of the pairs.
   *
   * <p>The bytes are also divided into ten equal parts; each part ends with its last PUT. The last
   * part is compared with the second one, to see whether the engine becomes slower. That is done
   * only if a part overwrites about as many bytes as the store holds: a shorter part may contain no
   * compaction.
   */
  static Map<String, Double> overwrite(Context context) throws IOException, InterruptedException {
    Path store = context.scratch();
    Stores.copy(context.base(), store);
    AtomicLong largest = new AtomicLong();
    Map<String, Double> figures = new LinkedHashMap<>();
    Histogram latency = Drive.histogram();
    ScheduledExecutorService sampler = Executors.newSingleThreadScheduledExecutor();
    try (Engine engine = context.open(store, Durability.PROCESS)) {
      sampler.scheduleAtFixedRate(
          () -> largest.accumulateAndGet(Stores.bytes(store), Math::max), 0, 1, TimeUnit.SECONDS);
      final long writtenFirst = Stores.bytesWrittenByThisProcess();
      long bytes = 0;
      double seconds = 0;
      for (int part = 1; part <= PARTS; part++) {
        long written = Stores.bytesWrittenByThisProcess();
        Result result =
            Drive.timed(
                context.settings().seed() + part,
                Limit.bytes(context.settings().overwriteBytes() / PARTS),
                () -> putAtRandom(engine, context.pairs()));
        latency.add(result.latency());
        bytes += result.bytes();
        seconds += result.operations() / result.perSecond();
        figures.put("overwrite_rate_" + part, result.perSecond());
        figures.put(
            "overwrite_amplification_" + part,
            (double) (Stores.bytesWrittenByThisProcess() - written) / result.bytes());
      }
      engine.flush();
      engine.quiesce();
      final long writtenLast = Stores.bytesWrittenByThisProcess();
      double pairBytes = context.pairs().bytes();
      figures.put("overwrite", latency.getTotalCount() / seconds);
      figures.put("overwrite_p9999", latency.getValueAtPercentile(99.99) / 1e6);
      figures.put("overwrite_stall_max", latency.getMaxValue() / 1e6);
      figures.put("overwrite_write_amplification", (double) (writtenLast - writtenFirst) / bytes);
      figures.put("overwrite_space_peak", largest.get() / pairBytes);
      figures.put("overwrite_space_at_rest", bytesAtRest(store) / pairBytes);
      if (bytes >= COMPARABLE * PARTS * pairBytes) {
        figures.put("overwrite_rate_kept", lastBySecond(figures, "overwrite_rate_"));
        figures.put(
            "overwrite_amplification_kept", lastBySecond(figures, "overwrite_amplification_"));
      }
      return figures;
    } finally {
      sampler.shutdown();
    }
  }

  private static double lastBySecond(Map<String, Double> figures, String prefix) {
    return figures.get(prefix + PARTS) / figures.get(prefix + 2);
  }

  /**
   * Returns the size of the store once it has not changed for two seconds, because engines delete
   * replaced files late.
   */
  private static double bytesAtRest(Path store) throws InterruptedException {
    long before = Stores.bytes(store);
    int still = 0;
    for (int second = 0; still < STILL_SECONDS && second < STILL_SECONDS_MAX; second++) {
      TimeUnit.SECONDS.sleep(1);
      long now = Stores.bytes(store);
      still = now == before ? still + 1 : 0;
      before = now;
    }
    return before;
  }

  private static Operation putAtRandom(Engine engine, Pairs pairs) {
    Writer writer = new Writer(engine, pairs);
    return bits -> {
      int number = pairs.uniform(bits);
      int version = (int) (bits & 0xFFFF);
      writer.put(number, version);
      return Pairs.KEY_BYTES + pairs.valueLength(number, version);
    };
  }

  /**
   * Writes pairs by number. For one thread. Repeats a PUT until an overloaded engine accepts it, so
   * that refusals count as stalls.
   */
  static final class Writer {

    private static final int DELETED = -1;

    private final Engine engine;
    private final Pairs pairs;
    private final byte[] key = new byte[Pairs.KEY_BYTES];

    Writer(Engine engine, Pairs pairs) {
      this.engine = engine;
      this.pairs = pairs;
    }

    void putFirst(int number) {
      put(number, 0);
    }

    void put(int number, int version) {
      write(number, pairs.valueOffset(number, version), pairs.valueLength(number, version));
    }

    void delete(int number) {
      write(number, 0, DELETED);
    }

    private void write(int number, int offset, int length) {
      Pairs.key(key, number);
      while (true) {
        try {
          if (length == DELETED) {
            engine.delete(key, 0, key.length);
          } else {
            engine.put(key, 0, key.length, pairs.pool(), offset, length);
          }
          return;
        } catch (OverloadedException e) {
          LockSupport.parkNanos(RETRY_NANOS);
        }
      }
    }

    boolean isPresent(int number) {
      Pairs.key(key, number);
      return engine.get(key) != null;
    }
  }
}
