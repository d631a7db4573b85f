package lsmlab.bench.workload;

import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import lsmlab.storage.Durability;
import lsmlab.storage.Engine;

/**
 * Overwrites the loaded store's pairs at random as fast as the engine takes them. Write amplification is bytes given to
 * the kernel's write calls by the whole process, until the engine is at rest again, by bytes of keys and values
 * acknowledged; space amplification is the largest size of the store, sampled once a second, by the size of the pairs.
 * Of the longest stalls it is told what they consist of, see {@link StallWatch}. At rest means that the size has not changed for {@value #STILL_SECONDS} seconds: engines remove replaced files late.
 */
final class OverwriteWorkload implements Workload {

  private static final int STILL_SECONDS = 2;
  private static final int STILL_SECONDS_MAX = 60;

  @Override
  public Outcome run(Context context) throws IOException, InterruptedException {
    Path store = context.settings().scratch(context.engine());
    Stores.copy(context.settings().base(context.engine()), store);
    AtomicLong largest = new AtomicLong();
    ScheduledExecutorService sampler = Executors.newSingleThreadScheduledExecutor();
    try (Engine engine = context.open(store, Durability.PROCESS)) {
      sampler.scheduleAtFixedRate(
          () -> largest.accumulateAndGet(Stores.bytes(store), Math::max), 0, 1, TimeUnit.SECONDS);
      long writtenBefore = ProcessIo.writtenBytes();
      Writers.Result result =
          Writers.run(
              context,
              engine,
              context.settings().overwriteThreads(),
              context.settings().overwriteSeconds(),
              true);
      engine.flush();
      engine.quiesce();
      long written = ProcessIo.writtenBytes() - writtenBefore;
      Map<String, Double> figures = new LinkedHashMap<>();
      figures.put("overwrite", result.perSecond());
      figures.put("overwrite_stall_max", result.latency().getMaxValue() / 1e6);
      figures.put("overwrite_p9999", result.latency().getValueAtPercentile(99.99) / 1e6);
      figures.put("overwrite_write_amplification", (double) written / result.bytes());
      double pairs = context.pairs().bytes();
      figures.put("overwrite_space_peak", largest.get() / pairs);
      figures.put("overwrite_space_at_rest", bytesAtRest(store) / pairs);
      return new Outcome(figures, result.stalls());
    } finally {
      sampler.shutdown();
    }
  }

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
}
