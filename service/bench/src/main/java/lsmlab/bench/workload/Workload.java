package lsmlab.bench.workload;

import java.io.IOException;

/** What is done to one engine in one JVM. */
@FunctionalInterface
public interface Workload {

  /** Runs and returns what it found out. */
  Outcome run(Context context) throws IOException, InterruptedException;
}
