package lsmlab.server.metrics;

import io.prometheus.metrics.model.registry.MultiCollector;
import io.prometheus.metrics.model.snapshots.ClassicHistogramBuckets;
import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Shows the recorders to the Prometheus client: {@code lsmlab_requests_total} and {@code lsmlab_request_seconds}.
 *
 * <p>The client's own histograms are not used: for the stages of one request they cost five times what a {@link
 * Recorder} does, over 1% of the request's CPU time.
 */
final class RequestMetrics implements MultiCollector {

  private static final double[] BOUNDS_SECONDS =
      IntStream.range(0, LatencyBuckets.COUNT).mapToDouble(RequestMetrics::boundSeconds).toArray();

  private final Recorders recorders;

  RequestMetrics(Recorders recorders) {
    this.recorders = recorders;
  }

  private static double boundSeconds(int index) {
    long nanos = LatencyBuckets.boundNanos(index);
    return nanos == Long.MAX_VALUE ? Double.POSITIVE_INFINITY : nanos / 1e9;
  }

  @Override
  public MetricSnapshots collect() {
    Recorder total = recorders.total();
    return MetricSnapshots.of(requests(total), seconds(total));
  }

  @Override
  public List<String> getPrometheusNames() {
    return List.of("lsmlab_requests", "lsmlab_request_seconds");
  }

  private static CounterSnapshot requests(Recorder total) {
    CounterSnapshot.Builder counter =
        CounterSnapshot.builder().name("lsmlab_requests").help("Responses by method and status.");
    for (Method method : Method.values()) {
      for (int status : Recorder.statuses()) {
        long count = total.requests(method, status);
        if (count > 0) {
          counter.dataPoint(
              CounterSnapshot.CounterDataPointSnapshot.builder()
                  .labels(Labels.of("method", method.label(), "status", Integer.toString(status)))
                  .value(count)
                  .build());
        }
      }
    }
    return counter.build();
  }

  private static HistogramSnapshot seconds(Recorder total) {
    HistogramSnapshot.Builder histogram =
        HistogramSnapshot.builder()
            .name("lsmlab_request_seconds")
            .help("Where a request's time went, from the selector's wake-up on.");
    for (Method method : Method.values()) {
      for (Stage stage : Stage.values()) {
        long[] counts = new long[LatencyBuckets.COUNT];
        long count = 0;
        for (int i = 0; i < counts.length; i++) {
          counts[i] = total.bucket(method, stage, i);
          count += counts[i];
        }
        if (count > 0) {
          histogram.dataPoint(
              HistogramSnapshot.HistogramDataPointSnapshot.builder()
                  .labels(Labels.of("method", method.label(), "stage", stage.label()))
                  .classicHistogramBuckets(ClassicHistogramBuckets.of(BOUNDS_SECONDS, counts))
                  .sum(total.sumNanos(method, stage) / 1e9)
                  .build());
        }
      }
    }
    return histogram.build();
  }
}
