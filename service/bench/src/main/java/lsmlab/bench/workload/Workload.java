package lsmlab.bench.workload;

import java.io.IOException;
import java.util.Map;

/** What is done to one engine in one JVM. */
@FunctionalInterface
public interface Workload {

  /** Runs and returns the figures by metric, in the metric's unit. */
  Map<String, Double> run(Context context) throws IOException, InterruptedException;
}
