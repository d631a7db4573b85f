package lsmlab.bench.workload;

import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import lsmlab.storage.Durability;
import lsmlab.storage.Engine;

/** Sixty-four threads put pairs at random into an empty store, power durability: each waits until its write is synced. */
final class SyncWorkload implements Workload {

  private static final int THREADS = 64;

  @Override
  public Outcome run(Context context) throws IOException, InterruptedException {
    Path store = context.settings().scratch(context.engine());
    try (Engine engine = context.open(store, Durability.POWER)) {
      Writers.run(context, engine, THREADS, context.settings().warmupSeconds(), false);
      Writers.Result result =
          Writers.run(context, engine, THREADS, context.settings().seconds(), false);
      Map<String, Double> figures = new LinkedHashMap<>();
      figures.put("put_power_64t", result.perSecond());
      figures.put("put_power_p99", result.latency().getValueAtPercentile(99) / 1e6);
      return Outcome.of(figures);
    }
  }
}
