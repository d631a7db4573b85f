package lsmlab.bench.workload;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import lsmlab.bench.Pairs;
import lsmlab.bench.report.Stall;
import lsmlab.storage.Engine;
import org.HdrHistogram.Histogram;

/** Threads that put pairs at random for a time. */
final class Writers {

  /**
   * @param latency nanoseconds from asking to acknowledgement, one value a PUT
   * @param seconds from the start to the last acknowledgement
   * @param bytes of keys and values acknowledged
   * @param stalls the longest, see {@link StallWatch}
   */
  record Result(Histogram latency, double seconds, long bytes, List<Stall> stalls) {
    double perSecond() {
      return latency.getTotalCount() / seconds;
    }
  }

  private record Share(Histogram latency, long bytes, List<Stall> stalls) {}

  private Writers() {}

  /**
   * @param watched whether to tell what the longest stalls consist of; for threads that seldom wait, see {@link StallWatch}
   */
  static Result run(Context context, Engine engine, int threads, int seconds, boolean watched)
      throws InterruptedException {
    List<Callable<Share>> tasks = new ArrayList<>();
    long start = System.nanoTime();
    long end = start + seconds * 1_000_000_000L;
    for (int thread = 0; thread < threads; thread++) {
      long seed = Pairs.mix(context.settings().seed() - thread - 1);
      tasks.add(() -> write(engine, context.pairs(), seed, start, end, watched));
    }
    Histogram latency = Latency.histogram();
    long bytes = 0;
    List<Stall> stalls = new ArrayList<>();
    try (ExecutorService pool = Executors.newFixedThreadPool(threads)) {
      for (Future<Share> share : pool.invokeAll(tasks)) {
        latency.add(share.get().latency());
        bytes += share.get().bytes();
        stalls.addAll(share.get().stalls());
      }
    } catch (ExecutionException e) {
      throw new IllegalStateException("a writer failed: " + e.getCause(), e.getCause());
    }
    double took = (System.nanoTime() - start) / 1e9;
    return new Result(latency, took, bytes, StallWatch.longestOf(stalls.stream()));
  }

  private static Share write(
      Engine engine, Pairs pairs, long seed, long start, long end, boolean watched)
      throws IOException {
    byte[] key = new byte[Pairs.KEY_BYTES];
    Histogram latency = Latency.histogram();
    long bytes = 0;
    long state = seed;
    try (StallWatch watch = watched ? new StallWatch(start) : null) {
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
        if (watched) {
          watch.finished(before, now);
        }
        before = now;
        bytes += Pairs.KEY_BYTES + pairs.valueLength(number, version);
      }
      return new Share(latency, bytes, watched ? watch.longest() : List.of());
    }
  }
}
