package lsmlab.bench.server;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.PrintStream;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * What becomes of a variant that is offered twice what it can do, and afterwards.
 *
 * <p>One server process: a warm-up, its best goodput (a rate that nothing reaches, as many connections as fill the CPU but
 * not the queue), a rate of a third of that as the normal case, twice that over more connections than the queue has
 * room for, at once the normal case again, and its best goodput once more.
 */
final class Overload {

  /**
   * One variant's figures.
   *
   * @param saturatedBefore best goodput, 1/s
   * @param saturatedAfter the same at the end
   * @param goodput at twice that rate offered
   * @param rejected replies 503 a second meanwhile
   * @param queueWaitMeanMillis mean wait in the variant of what was served
   * @param queueWaitBoundMillis the longest it can be by Little's law: what the queue, the workers' hands and the selector
   *     thread's can hold, by the goodput; 0 where there is no queue
   * @param queueWaitMillis 99th percentile of the wait
   * @param cpuWaitMillis mean wait of a worker for the CPU, each time that it gets it; NaN where there is none
   * @param replyMillis 99th percentile of the client's time from sending to the reply, of any status
   * @param timedOut requests that their client gave up
   * @param broken requests whose connection ended instead
   * @param residentBytes most resident memory of the process
   * @param heapBytes used after the overload
   * @param normalMillis 99th percentile before
   * @param recoverySeconds after the overload, until a second's 99th percentile is at most twice the normal one; NaN if
   *     none within the seconds looked at
   */
  record Figures(
      double saturatedBefore,
      double saturatedAfter,
      double goodput,
      double rejected,
      double queueWaitMeanMillis,
      double queueWaitBoundMillis,
      double queueWaitMillis,
      double cpuWaitMillis,
      double replyMillis,
      long timedOut,
      long broken,
      long residentBytes,
      double heapBytes,
      double normalMillis,
      double recoverySeconds) {

    /** What the goodput is held against: the mean of before and after, for the machine itself drifts meanwhile. */
    double saturated() {
      return (saturatedBefore + saturatedAfter) / 2;
    }
  }

  /** Below this a 99th percentile counts as normal whatever it was before. */
  private static final double NORMAL_MILLIS_MIN = 5;

  private static final String QUEUE_WAIT = "method=\"get\",stage=\"queue_wait\"";
  private static final String WAITED = "lsmlab_request_seconds_sum{" + QUEUE_WAIT + "}";

  private static final int QUEUE_CAPACITY = 128;
  private static final int WORKERS = 8;
  private static final int NORMAL_SECONDS = 4;

  private final ServerBench.Settings settings;
  private final int connections;
  private final int seconds;

  Overload(ServerBench.Settings settings, int connections, int seconds) {
    this.settings = settings;
    this.connections = connections;
    this.seconds = seconds;
  }

  Figures measure(String variant, PrintStream progress) throws IOException, InterruptedException {
    progress.printf("overload %s: ", variant);
    progress.flush();
    Map<String, String> keys =
        Map.of(
            "variant", variant,
            "queue_capacity", Integer.toString(QUEUE_CAPACITY),
            "workers", Integer.toString(WORKERS));
    try (Server server = Server.service(settings, keys, true)) {
      server.pin(settings, false);
      Load.warmUp(settings, server, "get");
      server.pin(settings, true);
      double saturated = saturate(server);
      long normalRate = Math.max(1, (long) (saturated / 3));
      double normal =
          apply(server, normalRate, settings.connections(), NORMAL_SECONDS).correctedMillis("99");
      Scrape before = server.scrape();
      Server.CpuWaits waitsBefore = server.workersCpuWaits();
      Load over = apply(server, (long) (2 * saturated), connections, seconds);
      Server.CpuWaits waits = server.workersCpuWaits();
      Scrape end = server.scrape();
      Load after = apply(server, normalRate, settings.connections(), NORMAL_SECONDS);
      double capacity = end.value("lsmlab_queue_capacity");
      Figures figures =
          new Figures(
              saturated,
              saturate(server),
              over.goodput(),
              over.status(503) / over.seconds(),
              1000 * waited(before, end) / (over.goodput() * over.seconds()),
              capacity == 0 ? 0 : 1000 * (capacity + WORKERS + 1) / over.goodput(),
              1000 * end.quantile(before, "lsmlab_request_seconds", QUEUE_WAIT, 0.99),
              waits.meanMillisSince(waitsBefore),
              over.uncorrectedMillis("99"),
              over.report().get("errors").get("timeout").asLong(),
              over.brokenReplies() + after.brokenReplies(),
              server.residentBytesMax(),
              end.value("jvm_memory_used_bytes{area=\"heap\"}"),
              normal,
              recoverySeconds(after, normal));
      progress.printf(
          "%,.0f/s of %,.0f/s and %,.0f/s after, %,.0f/s rejected, queue wait %.2f ms of %.2f ms, p99 %.2f ms, CPU wait %.2f ms, %d broken, normal after %.0f s%n",
          figures.goodput(),
          figures.saturatedBefore(),
          figures.saturatedAfter(),
          figures.rejected(),
          figures.queueWaitMeanMillis(),
          figures.queueWaitBoundMillis(),
          figures.queueWaitMillis(),
          figures.cpuWaitMillis(),
          figures.broken(),
          figures.recoverySeconds());
      return figures;
    }
  }

  /** Seconds that requests have waited between two scrapes; those that were rejected have hardly. */
  private static double waited(Scrape before, Scrape after) {
    return after.value(WAITED) - before.value(WAITED);
  }

  private double saturate(Server server) throws IOException, InterruptedException {
    return apply(server, Load.SATURATING, settings.connections(), settings.seconds()).goodput();
  }

  private Load apply(Server server, long rate, int on, int howLong)
      throws IOException, InterruptedException {
    return Load.apply(settings, server, "get", rate, on, Duration.ofSeconds(howLong));
  }

  private static double recoverySeconds(Load after, double normalMillis) {
    double bound = Math.max(NORMAL_MILLIS_MIN, 2 * normalMillis);
    for (JsonNode second : after.report().get("series")) {
      JsonNode p99 = second.get("p99_us");
      if (!p99.isNull() && p99.asDouble() <= TimeUnit.MILLISECONDS.toMicros(1) * bound) {
        return second.get("t_s").asDouble() + 1;
      }
    }
    return Double.NaN;
  }
}
