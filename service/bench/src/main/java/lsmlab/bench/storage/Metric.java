package lsmlab.bench.storage;

import java.util.ArrayList;
import java.util.List;
import lsmlab.bench.harness.Numbers;

/**
 * A metric, which has one row in the table for each peer.
 *
 * @param name in the workloads and in {@code storage.json}
 * @param text in the table
 * @param higherIsBetter whether a higher value is better
 * @param ratioWanted target: least ratio to the tuned RocksDB, or NaN
 * @param valueWanted target: limit of our own median, or NaN
 */
record Metric(
    String name,
    String text,
    String unit,
    boolean higherIsBetter,
    double ratioWanted,
    double valueWanted) {

  private static final double NONE = Double.NaN;

  /** All metrics in the order of their rows. */
  static final List<Metric> ALL = new ArrayList<>();

  static {
    more("get_present_1t", "GET, 1 thread", "1/s", 2.5);
    more("get_present_2t", "GET, 2 threads", "1/s", 2.5);
    more("get_zipfian", "GET, Zipfian 0.99, 1 thread", "1/s", 2);
    more("get_absent", "GET of absent keys, 1 thread", "1/s", NONE);
    less("get_allocated_beyond_value", "heap a GET, beyond the value", "bytes", NONE, 64);
    more("scan_100", "scans of 100 pairs, 1 thread", "1/s", 1.5);
    more("get_memory_1t", "GET, data 4 times the memory, 1 thread", "1/s", 1);
    more("get_memory_8t", "… 8 threads", "1/s", 1);
    more("mixed_2t", "GET and PUT, half each, 2 threads", "1/s", 1.5);
    less("mixed_p99", "… 99th percentile", "µs", NONE, NONE);
    more("put_process_1t", "PUT, 1 thread", "1/s", 1.3);
    less("put_process_p99", "… 99th percentile", "µs", NONE, NONE);
    less("put_allocated", "heap a PUT", "bytes", NONE, NONE);
    more("delete_process_1t", "DELETE, 1 thread", "1/s", NONE);
    more("put_power_64t", "PUT, power durability, 64 writers", "1/s", 1.3);
    less("put_power_p99", "… 99th percentile", "ms", NONE, NONE);
    more("overwrite", "sustained overwrite", "1/s", NONE);
    less("overwrite_p9999", "… 99.99th percentile of a PUT", "ms", 2, NONE);
    less("overwrite_stall_max", "… longest PUT", "ms", 2, NONE);
    less("overwrite_write_amplification", "… write amplification", "×", 1, NONE);
    less("overwrite_space_peak", "… largest size by the pairs' size", "×", 1, NONE);
    less("overwrite_space_at_rest", "… size at rest by the pairs' size", "×", 1, NONE);
    ALL.add(
        new Metric(
            "overwrite_rate_kept",
            "… rate of the last tenth by the second's",
            "×",
            true,
            NONE,
            0.85));
    less(
        "overwrite_amplification_kept",
        "… write amplification of the last tenth by the second's",
        "×",
        NONE,
        1.15);
    less("open", "opening the loaded store", "ms", NONE, 200);
    less("open_cold", "… as the first thing a JVM does", "ms", NONE, NONE);
    ALL.add(new Metric("replay", "replaying the WAL", "MB/s", true, NONE, 200));
  }

  private static void more(String name, String text, String unit, double ratioWanted) {
    ALL.add(new Metric(name, text, unit, true, ratioWanted, NONE));
  }

  private static void less(
      String name, String text, String unit, double ratioWanted, double valueWanted) {
    ALL.add(new Metric(name, text, unit, false, ratioWanted, valueWanted));
  }

  /** Returns how many times better ours is. Above 1 ours is better, for all metrics. */
  double ratio(double ours, double theirs) {
    return higherIsBetter ? ours / theirs : theirs / ours;
  }

  /** Returns the target as text; empty if there is none. */
  String target() {
    String sign = higherIsBetter ? "≥ " : "≤ ";
    if (!Double.isNaN(valueWanted)) {
      return sign + Numbers.text(valueWanted) + " " + unit;
    }
    return Double.isNaN(ratioWanted) ? "" : "≥ " + Numbers.text(ratioWanted) + "×";
  }
}
