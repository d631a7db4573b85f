package lsmlab.server.metrics;

import io.prometheus.metrics.core.metrics.CounterWithCallback;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import io.prometheus.metrics.core.metrics.Info;
import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter;
import io.prometheus.metrics.model.registry.Collector;
import io.prometheus.metrics.model.registry.MultiCollector;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.function.DoubleSupplier;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;
import lsmlab.server.variant.Rejection;
import lsmlab.server.variant.Variant;
import lsmlab.storage.EngineStats;

/**
 * Everything that {@code /metrics} shows, in Prometheus' text format. Thread-safe.
 *
 * <p>A page costs some milliseconds of CPU time. On one CPU they would delay every request that arrives meanwhile, and
 * the lab would measure itself. So a page is made in steps, with a pause after each, in which waiting requests are
 * served.
 */
public final class MetricsPage {

  private static final double NANOS = 1e9;

  private static final int BYTES_EXPECTED = 128 * 1024;

  private final List<Supplier<MetricSnapshots>> families = new ArrayList<>();

  /** Checks names, and keeps what is registered in {@link #families}: its own scrape is one step. */
  private final PrometheusRegistry registry =
      new PrometheusRegistry() {
        @Override
        public void register(Collector family) {
          super.register(family);
          families.add(() -> MetricSnapshots.of(family.collect()));
        }

        @Override
        public void register(MultiCollector several) {
          super.register(several);
          families.add(several::collect);
        }
      };

  private final PrometheusTextFormatWriter writer = PrometheusTextFormatWriter.create();
  private final Supplier<EngineStats> engine;

  /** The engine's counters at the current scrape, so that all metrics of a scrape show one moment. */
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
    PacedText out = new PacedText();
    try {
      List<MetricSnapshot> snapshots = new ArrayList<>();
      for (Supplier<MetricSnapshots> family : families) {
        family.get().forEach(snapshots::add);
        out.pauseAfterStep();
      }
      writer.write(out, new MetricSnapshots(snapshots));
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

  /** The text of a page, and the pauses while it is made: the writer hands it over in pieces of some KiB. */
  private static final class PacedText extends ByteArrayOutputStream {

    /** A step ends at the first call after this time. */
    private static final long STEP_NANOS = 100_000;

    private static final long PAUSE_NANOS = 50_000;

    /** A page that has taken this long is finished without pauses: other threads keep the CPU busy all the time. */
    private static final long PACED_NANOS_MAX = 20_000_000;

    private final long began = System.nanoTime();
    private long step = began;

    PacedText() {
      super(BYTES_EXPECTED);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) {
      super.write(bytes, offset, length);
      pauseAfterStep();
    }

    void pauseAfterStep() {
      long now = System.nanoTime();
      if (now - step > STEP_NANOS && now - began < PACED_NANOS_MAX) {
        LockSupport.parkNanos(PAUSE_NANOS);
        step = System.nanoTime();
      }
    }
  }
}
