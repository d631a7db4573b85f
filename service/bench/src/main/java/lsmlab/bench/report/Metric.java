package lsmlab.bench.report;

import java.util.List;
import java.util.Optional;

/**
 * What is compared.
 *
 * @param name as in {@code storage.json}
 * @param text for people
 * @param higherIsBetter which way is up
 * @param ratioWanted least ratio to RocksDB that we aim at, or NaN
 * @param valueWanted bound that our own figure must keep, on its better side, or NaN
 */
public record Metric(
    String name,
    String text,
    String unit,
    boolean higherIsBetter,
    double ratioWanted,
    double valueWanted) {

  private static final double NONE = Double.NaN;
  private static final String RATE = "1/s";

  /** All metrics in the order of a table. */
  public static final List<Metric> ALL =
      List.of(
          new Metric("get_present_1t", "GET present, 1 thread", RATE, true, 3, NONE),
          new Metric("get_present_2t", "GET present, 2 threads", RATE, true, 3, NONE),
          new Metric("get_absent_1t", "GET absent, 1 thread", RATE, true, 2, NONE),
          new Metric(
              "get_allocated_beyond_value",
              "heap allocated per GET beyond the value's bytes",
              "bytes",
              false,
              NONE,
              64),
          new Metric(
              "get_memory_1t",
              "GET present, data 4 times the memory, 1 thread",
              RATE,
              true,
              1,
              NONE),
          new Metric("get_memory_8t", "… 8 threads", RATE, true, 1, NONE),
          new Metric(
              "put_process_1t", "PUT random, process durability, 1 thread", RATE, true, 1.5, NONE),
          new Metric("put_process_p99", "… its 99th percentile", "µs", false, NONE, NONE),
          new Metric("put_process_max", "… its longest", "ms", false, NONE, NONE),
          new Metric("put_allocated", "heap allocated per PUT", "bytes", false, NONE, NONE),
          new Metric(
              "put_power_64t", "PUT random, power durability, 64 writers", RATE, true, 1.5, NONE),
          new Metric("put_power_p99", "… its 99th percentile", "ms", false, NONE, NONE),
          new Metric("overwrite", "sustained overwrite", RATE, true, NONE, NONE),
          new Metric("overwrite_stall_max", "… longest stall of a PUT", "ms", false, 5, NONE),
          new Metric(
              "overwrite_stall_running_max",
              "… longest without the time in which no CPU could be had",
              "ms",
              false,
              NONE,
              NONE),
          new Metric("overwrite_p9999", "… 99.99th percentile of a PUT", "ms", false, NONE, NONE),
          new Metric("overwrite_write_amplification", "… write amplification", "×", false, 1, NONE),
          new Metric(
              "overwrite_space_peak", "… largest size by size of the pairs", "×", false, 1, NONE),
          new Metric(
              "overwrite_space_at_rest",
              "… size at rest by size of the pairs",
              "×",
              false,
              1,
              NONE),
          new Metric("open", "opening the loaded store", "ms", false, NONE, 200),
          new Metric("open_cold", "… as the first thing a JVM does", "ms", false, NONE, NONE),
          new Metric("replay", "replaying the WAL", "MB/s", true, NONE, 200));

  /** The metric of that name. */
  public static Optional<Metric> named(String name) {
    return ALL.stream().filter(metric -> metric.name().equals(name)).findFirst();
  }

  /** How many times better ours is than the other's: above 1 is better, whichever way is up. */
  public double ratio(double ours, double theirs) {
    return higherIsBetter ? ours / theirs : theirs / ours;
  }
}
