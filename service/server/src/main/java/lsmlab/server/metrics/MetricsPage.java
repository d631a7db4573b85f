package lsmlab.server.metrics;

import java.util.Map;
import java.util.function.Supplier;
import lsmlab.server.variant.Rejection;
import lsmlab.server.variant.Variant;
import lsmlab.storage.EngineStats;

/** Renders everything that {@code /metrics} shows. */
public final class MetricsPage {

  private final ServiceMetrics metrics;
  private final Variant variant;
  private final Supplier<EngineStats> engine;
  private final Map<String, String> info;
  private final JvmMetrics jvm = new JvmMetrics();
  private final PrometheusText out = new PrometheusText();

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
    this.metrics = metrics;
    this.variant = variant;
    this.engine = engine;
    this.info = info;
  }

  /** The page of this moment. */
  public synchronized String render() {
    out.clear();
    out.metric("lsmlab_service_info", "gauge", "What runs, in its labels.");
    out.sample(
        "lsmlab_service_info",
        1,
        info.entrySet().stream()
            .flatMap(entry -> java.util.stream.Stream.of(entry.getKey(), entry.getValue()))
            .toArray(String[]::new));
    requests(out, metrics.recorders().total());
    load(out);
    engine(out, engine.get());
    jvm.write(out);
    return out.toString();
  }

  /** Names and labels of all buckets: the same in each scrape, and most of its text. */
  private static final String[][] BUCKETS = bucketSamples();

  private static String[][] bucketSamples() {
    String[][] samples = new String[Method.values().length * Stage.values().length][];
    for (Method method : Method.values()) {
      for (Stage stage : Stage.values()) {
        String[] ofSeries = new String[LatencyBuckets.COUNT];
        for (int i = 0; i < ofSeries.length; i++) {
          long bound = LatencyBuckets.boundNanos(i);
          ofSeries[i] =
              "lsmlab_request_seconds_bucket{method=\""
                  + method.label()
                  + "\",stage=\""
                  + stage.label()
                  + "\",le=\""
                  + (bound == Long.MAX_VALUE ? "+Inf" : PrometheusText.seconds(bound))
                  + "\"} ";
        }
        samples[series(method, stage)] = ofSeries;
      }
    }
    return samples;
  }

  private static int series(Method method, Stage stage) {
    return method.ordinal() * Stage.values().length + stage.ordinal();
  }

  private static void requests(PrometheusText out, Recorder total) {
    String name = "lsmlab_requests_total";
    out.metric(name, "counter", "Replies by method and status.");
    for (Method method : Method.values()) {
      for (int status : Recorder.statuses()) {
        long count = total.requests(method, status);
        if (count > 0) {
          out.sample(name, count, "method", method.label(), "status", Integer.toString(status));
        }
      }
    }
    name = "lsmlab_request_seconds";
    out.metric(name, "histogram", "Where a request's time went, from the selector's wake-up on.");
    for (Method method : Method.values()) {
      for (Stage stage : Stage.values()) {
        histogram(out, name, total, method, stage);
      }
    }
  }

  private static void histogram(
      PrometheusText out, String name, Recorder total, Method method, Stage stage) {
    long cumulative = 0;
    for (int i = 0; i < LatencyBuckets.COUNT; i++) {
      cumulative += total.bucket(method, stage, i);
    }
    if (cumulative == 0) {
      return;
    }
    cumulative = 0;
    String[] samples = BUCKETS[series(method, stage)];
    for (int i = 0; i < LatencyBuckets.COUNT; i++) {
      cumulative += total.bucket(method, stage, i);
      out.prepared(samples[i], cumulative);
    }
    out.seconds(
        name + "_sum",
        total.sumNanos(method, stage),
        "method",
        method.label(),
        "stage",
        stage.label());
    out.sample(name + "_count", cumulative, "method", method.label(), "stage", stage.label());
  }

  private void load(PrometheusText out) {
    out.gauge("lsmlab_queue_depth", "Requests that wait in the variant.", variant.queueDepth());
    out.gauge("lsmlab_queue_capacity", "Requests that may wait.", variant.queueCapacity());
    String name = "lsmlab_rejected_total";
    out.metric(name, "counter", "Requests and connections turned away.");
    for (Rejection why : Rejection.values()) {
      out.sample(name, metrics.rejected(why), "reason", why.label());
    }
    out.counter(
        "lsmlab_ranges_cut_off_total",
        "Ranges that ended in their middle because the storage failed or ended the scan.",
        metrics.rangesCutOff());
    out.gauge("lsmlab_connections", "Open connections.", metrics.connections().get());
  }

  private static void engine(PrometheusText out, EngineStats stats) {
    out.gauge("lsmlab_memtable_bytes", "Bytes in memtables.", stats.memtableBytes());
    out.gauge(
        "lsmlab_memtables_sealed", "Memtables that wait for a flush.", stats.memtablesSealed());
    out.counter("lsmlab_flushes_total", "Memtables written to tables.", stats.flushes());
    out.counter("lsmlab_flush_bytes_total", "Bytes written by flushes.", stats.flushBytes());
    out.secondsCounter("lsmlab_flush_seconds_total", "Time spent in flushes.", stats.flushNanos());
    out.counter("lsmlab_compactions_total", "Compactions done.", stats.compactions());
    out.counter(
        "lsmlab_compaction_bytes_total", "Bytes written by compactions.", stats.compactionBytes());
    out.secondsCounter(
        "lsmlab_compaction_seconds_total", "Time spent in compactions.", stats.compactionNanos());
    out.gauge("lsmlab_tables", "SSTables in use.", stats.tables());
    out.gauge("lsmlab_table_bytes", "Bytes in SSTables in use.", stats.tableBytes());
    out.counter(
        "lsmlab_bloom_negative_total",
        "Table reads that a bloom filter saved.",
        stats.bloomNegatives());
    out.counter(
        "lsmlab_bloom_false_positive_total",
        "Table reads that found nothing although the bloom filter let them.",
        stats.bloomFalsePositives());
    out.counter("lsmlab_wal_bytes_total", "Bytes appended to the WAL.", stats.walBytes());
    out.counter("lsmlab_wal_syncs_total", "Syncs of the WAL.", stats.walSyncs());
    out.secondsCounter(
        "lsmlab_write_stall_seconds_total",
        "Time that writes were held back.",
        stats.writeStallNanos());
  }
}
