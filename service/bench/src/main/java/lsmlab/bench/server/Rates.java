package lsmlab.bench.server;

import java.io.IOException;
import java.io.PrintStream;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Each variant over one connection at the highest rates of a published report, whose service kept some of them and fell
 * over at others. A server process for each variant, with memtables of 1 MB, so that it flushes and compacts all the time.
 */
final class Rates {

  /** A load. */
  record Case(String name, String script, int valueBytes, long rate) {}

  /**
   * What became of it.
   *
   * @param closed goodput of the connection where it sends as soon as it has its reply, 1/s: the mean of right before and
   *     right after, for the machine drifts
   * @param goodput at the rate offered, 1/s
   * @param millis 99th percentile from the moment a request was due
   * @param broken requests that got no reply
   */
  record Figures(double closed, double goodput, double millis, long broken) {

    /** Goodput by what was offered or, where that is less, by what the connection carries. */
    double kept(Case which) {
      return goodput / Math.min(closed, which.rate());
    }
  }

  static final List<Case> CASES =
      List.of(
          new Case("put_small", "put", 10, 50_000),
          new Case("put_2kb", "put", 2_000, 5_000),
          new Case("get", "get", 500, 20_000),
          new Case("mixed", "mixed", 500, 5_000));

  private static final int CLOSED_SECONDS = 2;
  private static final int SECONDS = 3;
  private static final String FLUSH_THRESHOLD_BYTES = "1000000";

  private final ServerBench.Settings settings;

  Rates(ServerBench.Settings settings) {
    this.settings = settings;
  }

  Map<Case, Figures> measure(String variant, PrintStream progress)
      throws IOException, InterruptedException {
    progress.printf("rates %s:", variant);
    progress.flush();
    Map<String, String> keys =
        Map.of("variant", variant, "flush_threshold_bytes", FLUSH_THRESHOLD_BYTES);
    Map<Case, Figures> all = new LinkedHashMap<>();
    try (Server server = Server.service(settings, keys, true)) {
      // The JVM compiles on the server's CPU; a bound from before it has done would be too low.
      apply(server, CASES.getFirst(), Load.SATURATING, settings.warmupSeconds());
      for (Case each : CASES) {
        apply(server, each, Load.SATURATING, CLOSED_SECONDS); // warms up what is new in it
        Load closed = apply(server, each, Load.SATURATING, CLOSED_SECONDS);
        Load open = apply(server, each, each.rate(), SECONDS);
        Load after = apply(server, each, Load.SATURATING, CLOSED_SECONDS);
        Figures figures =
            new Figures(
                (closed.goodput() + after.goodput()) / 2,
                open.goodput(),
                open.correctedMillis("99"),
                closed.brokenReplies() + open.brokenReplies() + after.brokenReplies());
        all.put(each, figures);
        progress.printf(" %s %,.0f/s of %,d/s;", each.name(), open.goodput(), each.rate());
        progress.flush();
      }
    }
    progress.println();
    return all;
  }

  private Load apply(Server server, Case which, long rate, int seconds)
      throws IOException, InterruptedException {
    ServerBench.Settings sized = settings.withValueBytes(which.valueBytes());
    return Load.apply(sized, server, which.script(), rate, 1, Duration.ofSeconds(seconds));
  }
}
