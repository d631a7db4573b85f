package lsmlab.bench.workload;

import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import lsmlab.bench.Pairs;
import lsmlab.storage.Durability;
import lsmlab.storage.Engine;
import org.HdrHistogram.Histogram;

/**
 * One thread puts every pair once in random order into an empty store, process durability. Flushes and compactions that
 * fall into that time count. An engine that is not done after ten times the length of an interval is stopped there.
 */
final class PutWorkload implements Workload {

  private static final int TIME_LIMIT_INTERVALS = 10;

  @Override
  public Outcome run(Context context) throws IOException {
    Path store = context.settings().scratch(context.engine());
    put(context, store, context.settings().warmupSeconds());
    Stores.delete(store);
    return Outcome.of(put(context, store, TIME_LIMIT_INTERVALS * context.settings().seconds()));
  }

  private static Map<String, Double> put(Context context, Path store, int secondsMax) {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    Pairs pairs = context.pairs();
    byte[] key = new byte[Pairs.KEY_BYTES];
    Histogram latency = Latency.histogram();
    try (Engine engine = context.open(store, Durability.PROCESS)) {
      long allocatedBefore = threads.getCurrentThreadAllocatedBytes();
      long start = System.nanoTime();
      long limit = start + secondsMax * 1_000_000_000L;
      long before = start;
      for (int i = 0; i < pairs.count() && before - limit < 0; i++) {
        int number = pairs.shuffled(i);
        Pairs.key(key, number);
        Latency.put(engine, pairs, key, number, 0);
        long now = System.nanoTime();
        latency.recordValue(now - before);
        before = now;
      }
      long allocated = threads.getCurrentThreadAllocatedBytes() - allocatedBefore;
      Map<String, Double> figures = new LinkedHashMap<>();
      figures.put("put_process_1t", latency.getTotalCount() * 1e9 / (before - start));
      figures.put("put_process_p99", latency.getValueAtPercentile(99) / 1e3);
      figures.put("put_process_max", latency.getMaxValue() / 1e6);
      figures.put("put_allocated", (double) allocated / latency.getTotalCount());
      return figures;
    }
  }
}
