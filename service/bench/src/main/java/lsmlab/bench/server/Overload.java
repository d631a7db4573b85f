package lsmlab.bench.server;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * What becomes of a variant that is offered twice what it can do, and afterwards.
 *
 * <p>One server process: a warm-up, its best goodput (a rate that nothing reaches, as many connections as fill the CPU but
 * not the queue), its best over as many connections as the overload has, a rate of a third of the former as the normal
 * case, twice the former over more connections than the queue has room for, at once the normal case again, and its best
 * goodputs once more.
 */
final class Overload {

  /**
   * What a server can do.
   *
   * @param saturated best goodput over as many connections as fill the CPU, 1/s
   * @param wide best goodput over the overload's connections, which by their number alone cost every server some, at nine
   *     tenths and the whole of the saturated rate
   */
  record Best(double saturated, double wide) {}

  /**
   * What an overload leaves of the goodput. It is held against the mean of before and after, for the machine itself
   * drifts meanwhile.
   *
   * @param overloaded at twice the saturated rate offered
   */
  record Goodput(Best before, Best after, double overloaded) {

    double saturated() {
      return (before.saturated + after.saturated) / 2;
    }

    double wide() {
      return (before.wide + after.wide) / 2;
    }
  }

  /**
   * One variant's figures.
   *
   * @param goodput before, meanwhile and after
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
   * @param calmSecondsOver seconds before, without an overload, whose 99th percentile was over what counts as normal
   * @param recoverySeconds after the overload, until a second's 99th percentile is at most twice the normal one; NaN if
   *     none within the seconds looked at
   */
  record Figures(
      Goodput goodput,
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
      long calmSecondsOver,
      double recoverySeconds) {}

  /** Below this a 99th percentile counts as normal whatever it was before. */
  private static final double NORMAL_MILLIS_MIN = 5;

  private static final String QUEUE_WAIT = "method=\"get\",stage=\"queue_wait\"";
  private static final String WAITED = "lsmlab_request_seconds_sum{" + QUEUE_WAIT + "}";

  /** Of each of the loads that the JVM compiles for before anything is measured. */
  private static final int COMPILING_SECONDS = 3;

  private static final int QUEUE_CAPACITY = 128;
  private static final int WORKERS = 8;

  /** How long the normal case is looked at, before and after. */
  static final int NORMAL_SECONDS = 5;

  /** Of the saturated rate: what is offered to find the best goodput over many connections, which lies about there. */
  private static final double[] WIDE_SHARES = {0.9, 1};

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
      warmUp(server);
      Best best = best(server);
      long normalRate = Math.max(1, (long) (best.saturated() / 3));
      Load calm = apply(server, normalRate, settings.connections(), NORMAL_SECONDS);
      double normal = calm.correctedMillis("99");
      Scrape before = server.scrape();
      Server.CpuWaits waitsBefore = server.workersCpuWaits();
      Load over = overload(server, best);
      Server.CpuWaits waits = server.workersCpuWaits();
      Scrape end = server.scrape();
      Load after = apply(server, normalRate, settings.connections(), NORMAL_SECONDS);
      double capacity = end.value("lsmlab_queue_capacity");
      Figures figures =
          new Figures(
              new Goodput(best, best(server), over.goodput()),
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
              seconds(calm).stream().filter(each -> !isNormal(each, normal)).count(),
              recoverySeconds(after, normal));
      progress.printf(
          "%s, %,.0f/s rejected, queue wait %.2f ms of %.2f ms, p99 %.2f ms, CPU wait %.2f ms, %d broken, normal after %.0f s%n",
          text(figures.goodput()),
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

  /** The same for the no-op handler with a value: what the machine leaves of a server that has nothing to keep. */
  Goodput measureNoop(PrintStream progress) throws IOException, InterruptedException {
    progress.printf("overload %s: ", Saturation.NOOP_VALUE);
    progress.flush();
    try (Server server = Server.noop(settings, settings.valueBytes())) {
      warmUp(server);
      Best best = best(server);
      Load over = overload(server, best);
      Goodput goodput = new Goodput(best, best(server), over.goodput());
      progress.println(text(goodput));
      return goodput;
    }
  }

  /** Has the JVM compile, on both CPUs, for few connections and for many: what runs differs. */
  private void warmUp(Server server) throws IOException, InterruptedException {
    server.pin(settings, false);
    Load.warmUp(settings, server, "get");
    for (int on : new int[] {settings.connections(), connections}) {
      apply(server, Load.SATURATING, on, COMPILING_SECONDS);
    }
    server.pin(settings, true);
  }

  private static String text(Goodput goodput) {
    return String.format(
        "%,.0f/s of %,.0f/s and %,.0f/s after, over as many connections of %,.0f/s and %,.0f/s",
        goodput.overloaded(),
        goodput.before().saturated(),
        goodput.after().saturated(),
        goodput.before().wide(),
        goodput.after().wide());
  }

  /** Seconds that requests have waited between two scrapes; those that were rejected have hardly. */
  private static double waited(Scrape before, Scrape after) {
    return after.value(WAITED) - before.value(WAITED);
  }

  private Best best(Server server) throws IOException, InterruptedException {
    double saturated =
        apply(server, Load.SATURATING, settings.connections(), settings.seconds()).goodput();
    double wide = 0;
    for (double share : WIDE_SHARES) {
      Load load =
          apply(server, Math.max(1, (long) (share * saturated)), connections, settings.seconds());
      wide = Math.max(wide, load.goodput());
    }
    return new Best(saturated, wide);
  }

  private Load overload(Server server, Best best) throws IOException, InterruptedException {
    return apply(server, (long) (2 * best.saturated()), connections, seconds);
  }

  private Load apply(Server server, long rate, int on, int howLong)
      throws IOException, InterruptedException {
    return Load.apply(settings, server, "get", rate, on, Duration.ofSeconds(howLong));
  }

  private static double recoverySeconds(Load after, double normalMillis) {
    return seconds(after).stream()
        .filter(second -> isNormal(second, normalMillis))
        .findFirst()
        .map(second -> second.get("t_s").asDouble() + 1)
        .orElse(Double.NaN);
  }

  private static boolean isNormal(JsonNode second, double normalMillis) {
    double bound = Math.max(NORMAL_MILLIS_MIN, 2 * normalMillis);
    JsonNode p99 = second.get("p99_us");
    return !p99.isNull() && p99.asDouble() <= TimeUnit.MILLISECONDS.toMicros(1) * bound;
  }

  private static List<JsonNode> seconds(Load load) {
    List<JsonNode> seconds = new ArrayList<>();
    load.report().get("series").forEach(seconds::add);
    return seconds;
  }
}
