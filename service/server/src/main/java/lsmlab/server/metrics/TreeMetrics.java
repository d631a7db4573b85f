package lsmlab.server.metrics;

import io.prometheus.metrics.core.metrics.CounterWithCallback;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.Locale;
import java.util.function.ObjDoubleConsumer;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;
import lsmlab.storage.TreeStats;
import lsmlab.storage.TreeStats.Level;

/** Metrics of the levels and amplifications of a log-structured merge tree. Other engines have none of them. */
final class TreeMetrics {

  private static final double NANOS = 1e9;

  private final PrometheusRegistry registry;
  private final Supplier<TreeStats> stats;

  private TreeMetrics(PrometheusRegistry registry, Supplier<TreeStats> stats) {
    this.registry = registry;
    this.stats = stats;
  }

  /**
   * Adds the metrics to a registry.
   *
   * @param stats those of the current scrape
   */
  static void register(PrometheusRegistry registry, Supplier<TreeStats> stats) {
    new TreeMetrics(registry, stats).register();
  }

  private void register() {
    gauge("lsmlab_level_tables", "SSTables of a level.", Level::tables);
    gauge("lsmlab_level_bytes", "Bytes in the SSTables of a level.", Level::bytes);
    gauge("lsmlab_level_score", "How urgent a merge of a level is: due from 1 on.", Level::score);
    counter(
        "lsmlab_level_read_bytes_total",
        "Bytes of a level's SSTables that compactions read.",
        Level::bytesRead);
    counter(
        "lsmlab_level_written_bytes_total",
        "Bytes that flushes and compactions wrote into a level.",
        Level::bytesWritten);
    total(
        "lsmlab_accepted_bytes_total",
        "Keys and values of the writes that were committed.",
        TreeStats::acceptedBytes);
    total("lsmlab_table_lookups_total", "Lookups that no memtable answered.", TreeStats::lookups);
    total(
        "lsmlab_table_searches_total",
        "SSTables of which such a lookup searched a block.",
        TreeStats::searches);
    ratio(
        "lsmlab_write_amplification",
        "Bytes written to the WAL and to SSTables for each byte accepted.",
        TreeStats::writeAmplification);
    ratio(
        "lsmlab_read_amplification",
        "SSTables searched by each lookup that no memtable answered.",
        TreeStats::readAmplification);
    ratio(
        "lsmlab_space_amplification",
        "Bytes of all SSTables for each byte of the deepest level.",
        TreeStats::spaceAmplification);
  }

  private void gauge(String name, String help, ToDoubleFunction<Level> value) {
    GaugeWithCallback.builder()
        .name(name)
        .help(help)
        .labelNames("level")
        .callback(out -> eachLevel(value, (level, now) -> out.call(now, level)))
        .register(registry);
  }

  private void counter(String name, String help, ToDoubleFunction<Level> value) {
    CounterWithCallback.builder()
        .name(name)
        .help(help)
        .labelNames("level")
        .callback(out -> eachLevel(value, (level, now) -> out.call(now, level)))
        .register(registry);
  }

  private void eachLevel(ToDoubleFunction<Level> value, ObjDoubleConsumer<String> out) {
    for (Level level : stats.get().levels()) {
      out.accept(Integer.toString(level.level()), value.applyAsDouble(level));
    }
  }

  private void total(String name, String help, ToDoubleFunction<TreeStats> value) {
    CounterWithCallback.builder()
        .name(name)
        .help(help)
        .callback(out -> out.call(value.applyAsDouble(stats.get())))
        .register(registry);
  }

  /** A ratio without any events yet is left out. */
  private void ratio(String name, String help, ToDoubleFunction<TreeStats> value) {
    GaugeWithCallback.builder()
        .name(name)
        .help(help)
        .callback(
            out -> {
              double now = value.applyAsDouble(stats.get());
              if (now > 0) {
                out.call(now);
              }
            })
        .register(registry);
  }

  /** The name of a cause as a label. */
  static String label(TreeStats.StallCause cause) {
    return cause.name().toLowerCase(Locale.ROOT);
  }
}
