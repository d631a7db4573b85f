package lsmlab.server.metrics;

import java.util.Map;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;
import java.util.stream.Stream;
import lsmlab.server.request.Rejection;
import lsmlab.server.variant.Variant;
import lsmlab.storage.EngineStats;

/** The content of {@code /metrics}, in Prometheus' text format. Thread-safe. */
public final class MetricsPage {

  private static final double NANOS = 1e9;

  private static final int CHARS_EXPECTED = 64 * 1024;

  private final MetricsText text = new MetricsText();
  private final Supplier<EngineStats> engine;

  /** The engine's counters, read once in each scrape, so that all its metrics show the same moment. */
  private EngineStats stats;

  /**
   * Creates the page of one service.
   *
   * @param info the labels of {@code lsmlab_service_info}
   */
  public MetricsPage(
      ServiceMetrics metrics,
      Variant variant,
      Supplier<EngineStats> engine,
      Map<String, String> info) {
    this.engine = engine;
    info(info);
    text.add(new RequestMetrics(metrics.recorders()));
    load(metrics, variant);
    engine();
    TreeMetrics.register(text, () -> stats.tree());
    JvmMetrics.register(text);
  }

  /** Returns the page with the current values. */
  public synchronized String render() {
    stats = engine.get();
    StringBuilder page = new StringBuilder(CHARS_EXPECTED);
    text.appendTo(page);
    return page.toString();
  }

  private void info(Map<String, String> info) {
    String name = "lsmlab_service_info";
    String[] labels =
        info.entrySet().stream()
            .flatMap(label -> Stream.of(label.getKey(), label.getValue()))
            .toArray(String[]::new);
    String header =
        MetricsText.header(name, "gauge", "What runs, as labels; the value is always 1.");
    String series = MetricsText.series(name, labels);
    text.add(page -> MetricsText.sample(page.append(header), series, 1));
  }

  private void load(ServiceMetrics metrics, Variant variant) {
    text.gauge("lsmlab_queue_depth", "Requests that wait in the variant.", variant::queueDepth);
    text.gauge("lsmlab_queue_capacity", "Requests that may wait.", variant::queueCapacity);
    text.counter(
        "lsmlab_rejected_total",
        "Requests and connections that were refused.",
        "reason",
        out -> {
          for (Rejection why : Rejection.values()) {
            out.accept(why.label(), metrics.rejected(why));
          }
        });
    text.counter(
        "lsmlab_ranges_cut_off_total",
        "Ranges that were cut off because the storage failed or ended the scan.",
        metrics::rangesCutOff);
    text.gauge("lsmlab_connections", "Open connections.", metrics.connections()::get);
  }

  private void engine() {
    gauge("lsmlab_memtable_bytes", "Bytes in memtables.", EngineStats::memtableBytes);
    gauge(
        "lsmlab_memtables_sealed",
        "Memtables that wait for a flush.",
        EngineStats::memtablesSealed);
    counter("lsmlab_flushes_total", "Memtables written to tables.", EngineStats::flushes);
    counter("lsmlab_flush_bytes_total", "Bytes written by flushes.", EngineStats::flushBytes);
    counter(
        "lsmlab_flush_seconds_total", "Time spent in flushes.", now -> now.flushNanos() / NANOS);
    counter("lsmlab_compactions_total", "Completed compactions.", EngineStats::compactions);
    counter(
        "lsmlab_compaction_bytes_total",
        "Bytes written by compactions.",
        EngineStats::compactionBytes);
    counter(
        "lsmlab_compaction_seconds_total",
        "Time spent in compactions.",
        now -> now.compactionNanos() / NANOS);
    gauge("lsmlab_tables", "SSTables in use.", EngineStats::tables);
    gauge("lsmlab_table_bytes", "Bytes in SSTables in use.", EngineStats::tableBytes);
    counter(
        "lsmlab_bloom_negative_total",
        "Table reads that a bloom filter saved.",
        EngineStats::bloomNegatives);
    counter(
        "lsmlab_bloom_false_positive_total",
        "Table reads that a bloom filter allowed but that found nothing.",
        EngineStats::bloomFalsePositives);
    counter("lsmlab_wal_bytes_total", "Bytes appended to the WAL.", EngineStats::walBytes);
    counter("lsmlab_wal_syncs_total", "Syncs of the WAL.", EngineStats::walSyncs);
  }

  private void gauge(String name, String help, ToDoubleFunction<EngineStats> value) {
    text.gauge(name, help, () -> value.applyAsDouble(stats));
  }

  private void counter(String name, String help, ToDoubleFunction<EngineStats> value) {
    text.counter(name, help, () -> value.applyAsDouble(stats));
  }
}
