package lsmlab.server.metrics;

import java.util.function.Consumer;

/**
 * Renders the recorders as {@code lsmlab_requests_total} and {@code lsmlab_request_seconds}. A series appears with its
 * first request.
 */
final class RequestMetrics implements Consumer<StringBuilder> {

  private static final String COUNTER = "lsmlab_requests_total";
  private static final String HISTOGRAM = "lsmlab_request_seconds";
  private static final String COUNTER_HEADER =
      MetricsText.header(COUNTER, "counter", "Responses by method and status.");
  private static final String HISTOGRAM_HEADER =
      MetricsText.header(
          HISTOGRAM, "histogram", "Time of a request by stage, from the selector's wake-up on.");
  private static final Method[] METHODS = Method.values();
  private static final Stage[] STAGES = Stage.values();

  private final Recorders recorders;
  private final int[] statuses = Recorder.statuses();
  private final String[] responses = new String[METHODS.length * statuses.length];
  private final SeriesOfStage[] durations = new SeriesOfStage[METHODS.length * STAGES.length];

  /** The lines of one histogram, each up to its number. */
  private record SeriesOfStage(
      Method method, Stage stage, String[] buckets, String count, String sum) {

    static SeriesOfStage of(Method method, Stage stage) {
      String[] buckets = new String[LatencyBuckets.COUNT];
      for (int i = 0; i < buckets.length; i++) {
        buckets[i] = series("_bucket", method, stage, "le", boundSeconds(i));
      }
      String count = series("_count", method, stage);
      return new SeriesOfStage(method, stage, buckets, count, series("_sum", method, stage));
    }

    private static String series(String suffix, Method method, Stage stage, String... more) {
      String[] labels = {"method", method.label(), "stage", stage.label()};
      String[] all = new String[labels.length + more.length];
      System.arraycopy(labels, 0, all, 0, labels.length);
      System.arraycopy(more, 0, all, labels.length, more.length);
      return MetricsText.series(HISTOGRAM + suffix, all);
    }
  }

  RequestMetrics(Recorders recorders) {
    this.recorders = recorders;
    int response = 0;
    int duration = 0;
    for (Method method : METHODS) {
      for (int status : statuses) {
        responses[response++] =
            MetricsText.series(
                COUNTER,
                "method",
                method.label(),
                "status",
                status == 0 ? "other" : Integer.toString(status));
      }
      for (Stage stage : STAGES) {
        durations[duration++] = SeriesOfStage.of(method, stage);
      }
    }
  }

  private static String boundSeconds(int index) {
    long nanos = LatencyBuckets.boundNanos(index);
    return nanos == Long.MAX_VALUE ? "+Inf" : Double.toString(nanos / 1e9);
  }

  @Override
  public void accept(StringBuilder page) {
    Recorder total = recorders.total();
    page.append(COUNTER_HEADER);
    int response = 0;
    for (Method method : METHODS) {
      for (int status : statuses) {
        long count = total.requests(method, status);
        if (count > 0) {
          MetricsText.sample(page, responses[response], count);
        }
        response++;
      }
    }
    page.append(HISTOGRAM_HEADER);
    for (SeriesOfStage series : durations) {
      append(page, series, total);
    }
  }

  private static void append(StringBuilder page, SeriesOfStage series, Recorder total) {
    long count = 0;
    int begin = page.length();
    for (int i = 0; i < series.buckets().length; i++) {
      count += total.bucket(series.method(), series.stage(), i);
      page.append(series.buckets()[i]).append(count).append('\n');
    }
    if (count == 0) {
      page.setLength(begin);
      return;
    }
    page.append(series.count()).append(count).append('\n');
    MetricsText.sample(page, series.sum(), total.sumNanos(series.method(), series.stage()) / 1e9);
  }
}
