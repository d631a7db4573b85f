package lsmlab.bench.workload;

import java.util.concurrent.locks.LockSupport;
import lsmlab.bench.Pairs;
import lsmlab.storage.Engine;
import lsmlab.storage.OverloadedException;
import org.HdrHistogram.Histogram;

/** How a PUT is done and timed. */
final class Latency {

  private static final long RETRY_NANOS = 100_000;

  private Latency() {}

  /** Nanoseconds, three digits, any length. */
  static Histogram histogram() {
    Histogram histogram = new Histogram(3);
    histogram.setAutoResize(true);
    return histogram;
  }

  /**
   * Puts pair {@code number}. An engine that refuses a write because it is overloaded is asked again until it takes it,
   * so that a refusal counts as the stall that it is.
   */
  static void put(Engine engine, Pairs pairs, byte[] key, int number, int version) {
    int offset = pairs.valueOffset(number, version);
    int length = pairs.valueLength(number, version);
    while (true) {
      try {
        engine.put(key, 0, key.length, pairs.pool(), offset, length);
        return;
      } catch (OverloadedException e) {
        LockSupport.parkNanos(RETRY_NANOS);
      }
    }
  }
}
