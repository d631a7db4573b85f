package lsmlab.server.metrics;

import io.prometheus.metrics.core.metrics.CounterWithCallback;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import io.prometheus.metrics.core.metrics.Info;
import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.function.DoubleSupplier;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;
import lsmlab.server.variant.Rejection;
import lsmlab.server.variant.Variant;
import lsmlab.storage.EngineStats;

/** Everything that {@code /metrics} shows, in Prometheus' text format. Thread-safe. */
public final class MetricsPage {

  private static final double NANOS = 1e9;
  private static final int BYTES_EXPECTED = 128 * 1024;

  private final PrometheusRegistry registry = new PrometheusRegistry();
  private final PrometheusTextFormatWriter writer = PrometheusTextFormatWriter.create();
  private final Supplier<EngineStats> engine;

  /** The engine's counters at the scrape that goes on, so that all metrics of a scrape show one moment. */
  private EngineStats stats;

  /**
   * Makes the page of one service.
   *
   * @param info the labels of {@code lsmlab_service_info}
   */
  public MetricsPage(
      ServiceMetrics metrics,
      Variant variant,
      Supplier<EngineStats> engine,
      Map<String, String> info) {
    this.engine = engine;
    Info.builder()
        .name("lsmlab_service_info")
        .help("What runs, in its labels.")
        .labelNames(info.keySet().toArray(String[]::new))
        .register(registry)
        .addLabelValues(info.values().toArray(String[]::new));
    registry.register(new RequestMetrics(metrics.recorders()));
    load(metrics, variant);
    engine();
    JvmMetrics.register(registry);
  }

  /** The page of this moment. */
  public synchronized String render() {
    stats = engine.get();
    ByteArrayOutputStream out = new ByteArrayOutputStream(BYTES_EXPECTED);
    try {
      writer.write(out, registry.scrape());
    } catch (IOException e) {
      throw new UncheckedIOException("memory cannot fail to be written", e);
    }
    return out.toString(StandardCharsets.UTF_8);
  }

  private void load(ServiceMetrics metrics, Variant variant) {
    gauge("lsmlab_queue_depth", "Requests that wait in the variant.", variant::queueDepth);
    gauge("lsmlab_queue_capacity", "Requests that may wait.", variant::queueCapacity);
    CounterWithCallback.builder()
        .name("lsmlab_rejected_total")
        .help("Requests and connections turned away.")
        .labelNames("reason")
        .callback(
            out -> {
              for (Rejection why : Rejection.values()) {
                out.call(metrics.rejected(why), why.label());
              }
            })
        .register(registry);
    CounterWithCallback.builder()
        .name("lsmlab_ranges_cut_off_total")
        .help("Ranges that ended in their middle because the storage failed or ended the scan.")
        .callback(out -> out.call(metrics.rangesCutOff()))
        .register(registry);
    gauge("lsmlab_connections", "Open connections.", () -> metrics.connections().get());
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
    counter("lsmlab_compactions_total", "Compactions done.", EngineStats::compactions);
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
        "Table reads that found nothing although the bloom filter let them.",
        EngineStats::bloomFalsePositives);
    counter("lsmlab_wal_bytes_total", "Bytes appended to the WAL.", EngineStats::walBytes);
    counter("lsmlab_wal_syncs_total", "Syncs of the WAL.", EngineStats::walSyncs);
    CounterWithCallback.builder()
        .name("lsmlab_write_stall_seconds_total")
        .help("Time that writes were held back.")
        .labelNames("cause")
        .callback(
            out ->
                stats
                    .tree()
                    .stallNanos()
                    .forEach((cause, nanos) -> out.call(nanos / NANOS, TreeMetrics.label(cause))))
        .register(registry);
    TreeMetrics.register(registry, () -> stats.tree());
  }

  /** A gauge of the engine. */
  private void gauge(String name, String help, ToDoubleFunction<EngineStats> value) {
    gauge(name, help, () -> value.applyAsDouble(stats));
  }

  private void gauge(String name, String help, DoubleSupplier value) {
    GaugeWithCallback.builder()
        .name(name)
        .help(help)
        .callback(out -> out.call(value.getAsDouble()))
        .register(registry);
  }

  /** A counter of the engine. */
  private void counter(String name, String help, ToDoubleFunction<EngineStats> value) {
    CounterWithCallback.builder()
        .name(name)
        .help(help)
        .callback(out -> out.call(value.applyAsDouble(stats)))
        .register(registry);
  }
}
