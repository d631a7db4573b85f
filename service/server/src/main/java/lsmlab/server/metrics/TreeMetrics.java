package lsmlab.server.metrics;

import java.util.Locale;
import java.util.function.Consumer;
import java.util.function.ObjDoubleConsumer;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;
import lsmlab.storage.TreeStats;
import lsmlab.storage.TreeStats.Level;

/** Metrics of the levels and amplifications of a log-structured merge tree. Other engines do not have them. */
final class TreeMetrics {

  private static final double NANOS = 1e9;

  private final MetricsText text;
  private final Supplier<TreeStats> stats;

  private TreeMetrics(MetricsText text, Supplier<TreeStats> stats) {
    this.text = text;
    this.stats = stats;
  }

  /**
   * Adds the metrics to a page.
   *
   * @param stats returns the statistics of the current scrape
   */
  static void register(MetricsText text, Supplier<TreeStats> stats) {
    new TreeMetrics(text, stats).register();
  }

  private void register() {
    text.counter(
        "lsmlab_write_stall_seconds_total",
        "Time for which writes were held back.",
        "cause",
        out ->
            stats
                .get()
                .stallNanos()
                .forEach((cause, nanos) -> out.accept(label(cause), nanos / NANOS)));
    gauge("lsmlab_level_tables", "SSTables of a level.", Level::tables);
    gauge("lsmlab_level_bytes", "Bytes in the SSTables of a level.", Level::bytes);
    gauge(
        "lsmlab_level_score",
        "How urgent a compaction of a level is: due from 1 on.",
        Level::score);
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
        "SSTables in which these lookups searched a block.",
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
    text.gauge(name, help, "level", eachLevel(value));
  }

  private void counter(String name, String help, ToDoubleFunction<Level> value) {
    text.counter(name, help, "level", eachLevel(value));
  }

  private Consumer<ObjDoubleConsumer<String>> eachLevel(ToDoubleFunction<Level> value) {
    return out -> {
      for (Level level : stats.get().levels()) {
        out.accept(Integer.toString(level.level()), value.applyAsDouble(level));
      }
    };
  }

  private void total(String name, String help, ToDoubleFunction<TreeStats> value) {
    text.counter(name, help, () -> value.applyAsDouble(stats.get()));
  }

  /** Adds a ratio. A page leaves it out before its first event. */
  private void ratio(String name, String help, ToDoubleFunction<TreeStats> value) {
    text.gauge(
        name,
        help,
        () -> {
          double now = value.applyAsDouble(stats.get());
          return now > 0 ? now : Double.NaN;
        });
  }

  /** Returns the label of a cause. */
  private static String label(TreeStats.StallCause cause) {
    return cause.name().toLowerCase(Locale.ROOT);
  }
}
