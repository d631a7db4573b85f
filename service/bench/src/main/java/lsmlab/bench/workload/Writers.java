package lsmlab.bench.workload;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import lsmlab.bench.Pairs;
import lsmlab.storage.Engine;
import org.HdrHistogram.Histogram;

/** Threads that put pairs at random for a time. */
final class Writers {

  /**
   * @param latency nanoseconds from asking to acknowledgement, one value a PUT
   * @param seconds from the start to the last acknowledgement
   * @param bytes of keys and values acknowledged
   */
  record Result(Histogram latency, double seconds, long bytes) {
    double perSecond() {
      return latency.getTotalCount() / seconds;
    }
  }

  private record Share(Histogram latency, long bytes) {}

  private Writers() {}

  static Result run(Context context, Engine engine, int threads, int seconds)
      throws InterruptedException {
    List<Callable<Share>> tasks = new ArrayList<>();
    long start = System.nanoTime();
    for (int thread = 0; thread < threads; thread++) {
      long seed = Pairs.mix(context.settings().seed() - thread - 1);
      tasks.add(() -> write(engine, context.pairs(), seed, start + seconds * 1_000_000_000L));
    }
    Histogram latency = Latency.histogram();
    long bytes = 0;
    try (ExecutorService pool = Executors.newFixedThreadPool(threads)) {
      for (Future<Share> share : pool.invokeAll(tasks)) {
        latency.add(share.get().latency());
        bytes += share.get().bytes();
      }
    } catch (ExecutionException e) {
      throw new IllegalStateException("a writer failed: " + e.getCause(), e.getCause());
    }
    return new Result(latency, (System.nanoTime() - start) / 1e9, bytes);
  }

  private static Share write(Engine engine, Pairs pairs, long seed, long end) {
    byte[] key = new byte[Pairs.KEY_BYTES];
    Histogram latency = Latency.histogram();
    long bytes = 0;
    long state = seed;
    long before = System.nanoTime();
    while (before - end < 0) {
      state += 0x9e3779b97f4a7c15L;
      long bits = Pairs.mix(state);
      int number = (int) Math.unsignedMultiplyHigh(bits, pairs.count());
      int version = (int) (bits & 0xFFFF);
      Pairs.key(key, number);
      Latency.put(engine, pairs, key, number, version);
      long now = System.nanoTime();
      latency.recordValue(now - before);
      before = now;
      bytes += Pairs.KEY_BYTES + pairs.valueLength(number, version);
    }
    return new Share(latency, bytes);
  }
}
