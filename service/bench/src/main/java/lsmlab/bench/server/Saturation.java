package lsmlab.bench.server;

import java.io.IOException;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import lsmlab.bench.report.Comparison;

/**
 * Saturates servers in turn and keeps every figure, each beside that of the no-op handler.
 *
 * <p><b>Pairs.</b> A machine that others use as well grows faster and slower by a third within minutes. So a server and the
 * no-op handler are warmed up first and then measured one after the other, within seconds: both processes live, one
 * works. The no-op handler is measured before and after, and its figure is the mean of the two.
 *
 * <p><b>Field and final.</b> {@link #field} measures all servers; one process of the no-op handler serves a repetition.
 * {@link #decide} measures the best two again, every process anew for each pair, so that the variant that is judged is not
 * the one that was lucky in few pairs.
 */
final class Saturation {

  /** one-nio with an empty reply; what the ratios refer to. */
  static final String NOOP = "no-op";

  /** one-nio with a reply of a value's size. */
  static final String NOOP_VALUE = "no-op with a value";

  /** What intervals of {@code sync} with request metrics are compared with. */
  static final String METRICS_OFF = "sync, metrics off";

  /** Short, because the machine drifts: so long ones scatter no less, and there would be fewer of them. */
  private static final Duration METRICS_INTERVAL = Duration.ofMillis(200);

  private static final int NOOP_SECONDS = 1;

  /** An interval in which the host took more of the two CPUs says little of any server, and is measured again. */
  private static final double HOST_SHARE_MAX = 0.03;

  private static final int MEASURED_AGAIN_MAX = 3;
  private static final int FINALISTS = 2;
  private static final int PAIRS_A_DOT = 10;

  /** Figures of one measurement; shares are 0 … 1, the host's one of the server's CPU and the load generator's. */
  record Figures(double goodput, double cpuMicros, double serviceCpuShare, double hostShare) {

    /** The mean of two. */
    Figures with(Figures other) {
      return new Figures(
          (goodput + other.goodput) / 2,
          (cpuMicros + other.cpuMicros) / 2,
          (serviceCpuShare + other.serviceCpuShare) / 2,
          (hostShare + other.hostShare) / 2);
    }
  }

  /** What can be measured again. */
  interface Interval {

    Figures measure() throws IOException, InterruptedException;
  }

  /** A server and the no-op handler, measured next to each other. */
  record Pair(Figures ours, Figures noop) {

    double ratio() {
      return ours.goodput / noop.goodput;
    }
  }

  private final ServerBench.Settings settings;
  private final PrintStream progress;
  private final Map<String, Map<String, List<Pair>>> field = new LinkedHashMap<>();
  private final Map<String, Map<String, List<Pair>>> decided = new LinkedHashMap<>();
  private final List<Pair> metrics = new ArrayList<>();

  Saturation(ServerBench.Settings settings, PrintStream progress) {
    this.settings = settings;
    this.progress = progress;
  }

  /** Measures each server {@code repetitions} times with a script, get or put; the order turns round each time. */
  void field(String script, List<String> servers, int repetitions)
      throws IOException, InterruptedException {
    for (int repetition = 0; repetition < repetitions; repetition++) {
      try (Server noop = warm(NOOP, script)) {
        for (String name : repetition % 2 == 0 ? servers : servers.reversed()) {
          try (Server server = warm(name, script)) {
            Map<String, Pair> pair = inTurn(script, noop, Map.of(name, server), List.of(name));
            keep(field, script, pair, repetition + 1, repetitions);
          }
        }
      }
    }
  }

  /** Measures the best two of the field again, {@code pairs} times; their order turns round each time. */
  void decide(String script, List<String> variants, int pairs)
      throws IOException, InterruptedException {
    List<String> finalists =
        variants.stream()
            .sorted(
                Comparator.comparingDouble((String name) -> -medianRatio(of(field, script, name))))
            .limit(FINALISTS)
            .toList();
    for (int pair = 0; pair < pairs; pair++) {
      Map<String, Server> servers = new LinkedHashMap<>();
      try (Server noop = warm(NOOP, script)) {
        try {
          for (String name : finalists) {
            servers.put(name, warm(name, script));
          }
          List<String> order = pair % 2 == 0 ? finalists : finalists.reversed();
          keep(decided, script, inTurn(script, noop, servers, order), pair + 1, pairs);
        } finally {
          for (Server server : servers.values()) {
            server.close();
          }
        }
      }
    }
  }

  /** Measures servers in this order between two measurements of the no-op handler. */
  private Map<String, Pair> inTurn(
      String script, Server noop, Map<String, Server> servers, List<String> order)
      throws IOException, InterruptedException {
    Figures before = measure(script, noop, NOOP_SECONDS);
    Map<String, Figures> ours = new LinkedHashMap<>();
    for (String name : order) {
      ours.put(name, measure(script, servers.get(name), settings.seconds()));
      rest(script, servers.get(name));
    }
    Figures beside = before.with(measure(script, noop, NOOP_SECONDS));
    Map<String, Pair> pairs = new LinkedHashMap<>();
    ours.forEach((name, figures) -> pairs.put(name, new Pair(figures, beside)));
    return pairs;
  }

  /** Returns when nothing that a server does by itself can disturb the next one. */
  private static void rest(String script, Server server) throws IOException, InterruptedException {
    if (script.equals("put")) {
      server.flushAndCompact();
    }
  }

  private void keep(
      Map<String, Map<String, List<Pair>>> kept,
      String script,
      Map<String, Pair> pairs,
      int number,
      int of) {
    pairs.forEach(
        (name, pair) -> {
          add(kept, script, name, pair);
          progress.printf(
              "%s %s %d/%d: %,.0f/s, %.3f of the no-op handler's, %.2f µs of CPU each, CPU %.0f%% busy, "
                  + "%.0f%% of the CPUs taken by the host, %.0f%% beside the no-op handler%n",
              script,
              name,
              number,
              of,
              pair.ours.goodput,
              pair.ratio(),
              pair.ours.cpuMicros,
              100 * pair.ours.serviceCpuShare,
              100 * pair.ours.hostShare,
              100 * pair.noop.hostShare);
        });
  }

  /**
   * Measures what request metrics cost a GET: one process, in which they are switched on and off from interval to
   * interval, so that what one JVM happens to compile otherwise than another does not matter. The order within a pair
   * turns round with each pair; the first is not kept, because it makes the JVM compile both ways.
   */
  void measureMetrics(int pairs) throws IOException, InterruptedException {
    progress.printf("get with and without request metrics, %d pairs: ", pairs);
    progress.flush();
    try (Server server = warm("sync", "get")) {
      for (int pair = -1; pair < pairs; pair++) {
        Figures[] figures = new Figures[2];
        for (int on : pair % 2 == 0 ? new int[] {1, 0} : new int[] {0, 1}) {
          server.countRequests(on == 1);
          figures[on] = interval("get", server, METRICS_INTERVAL);
        }
        if (pair >= 0) {
          addMetrics(new Pair(figures[1], figures[0]));
        }
        if (pair % PAIRS_A_DOT == 0) {
          progress.print(".");
          progress.flush();
        }
      }
    }
    progress.println();
  }

  /** Starts a server and has it compile on both CPUs what will be measured on one. */
  private Server warm(String name, String script) throws IOException, InterruptedException {
    Server server = start(name, script.equals("get"));
    try {
      server.pin(settings, false);
      Load.warmUp(settings, server, script);
      server.pin(settings, true);
      return server;
    } catch (IOException | InterruptedException | RuntimeException e) {
      server.close();
      throw e;
    }
  }

  private Server start(String name, boolean loaded) throws IOException, InterruptedException {
    return switch (name) {
      case NOOP -> Server.noop(settings, 0);
      case NOOP_VALUE -> Server.noop(settings, settings.valueBytes());
      default -> Server.service(settings, Map.of("variant", name), loaded);
    };
  }

  /** Measures a server that had nothing to do before. The first second after a pause is slower and not kept. */
  private Figures measure(String script, Server server, int seconds)
      throws IOException, InterruptedException {
    interval(script, server, Duration.ofSeconds(1));
    return calmest(server.name(), () -> interval(script, server, Duration.ofSeconds(seconds)));
  }

  /**
   * Figures of an interval or, where the host disturbed it too much, of the calmest of a few: chosen by what the host took,
   * whatever the server did in it.
   */
  Figures calmest(String name, Interval interval) throws IOException, InterruptedException {
    Figures calmest = interval.measure();
    for (int again = 0; calmest.hostShare > HOST_SHARE_MAX && again < MEASURED_AGAIN_MAX; again++) {
      progress.printf(
          "the host took %.1f%% of the CPUs while %s was measured: again%n",
          100 * calmest.hostShare, name);
      Figures next = interval.measure();
      calmest = next.hostShare < calmest.hostShare ? next : calmest;
    }
    return calmest;
  }

  private Figures interval(String script, Server server, Duration length)
      throws IOException, InterruptedException {
    Load load =
        Load.apply(settings, server, script, Load.SATURATING, settings.connections(), length);
    if (load.brokenReplies() > 0) {
      throw new IOException(server.name() + " left requests without a reply: " + load.report());
    }
    return new Figures(
        load.goodput(), load.cpuMicrosPerReply(), load.serviceCpuShare(), load.hostShare());
  }

  // ---- what was measured
  // -------------------------------------------------------------------------------------------

  /** Keeps a pair of the field. */
  void addToField(String script, String name, Pair pair) {
    add(field, script, name, pair);
  }

  /** Keeps a pair of the final. */
  void addToFinal(String script, String name, Pair pair) {
    add(decided, script, name, pair);
  }

  /** Keeps a pair of intervals with request metrics and without. */
  void addMetrics(Pair pair) {
    metrics.add(pair);
  }

  private static void add(
      Map<String, Map<String, List<Pair>>> kept, String script, String name, Pair pair) {
    kept.computeIfAbsent(script, unused -> new LinkedHashMap<>())
        .computeIfAbsent(name, unused -> new ArrayList<>())
        .add(pair);
  }

  private static List<Pair> of(
      Map<String, Map<String, List<Pair>>> kept, String script, String name) {
    return kept.getOrDefault(script, Map.of()).getOrDefault(name, List.of());
  }

  /** A server's pairs in the field, in order; empty where there are none. */
  List<Pair> inField(String script, String name) {
    return of(field, script, name);
  }

  /** What a server is judged by: its pairs in the final, or where it was not in one those in the field. */
  List<Pair> of(String script, String name) {
    List<Pair> last = of(decided, script, name);
    return last.isEmpty() ? inField(script, name) : last;
  }

  /** Intervals with request metrics and, as the no-op handler's, without. */
  List<Pair> metrics() {
    return metrics;
  }

  /** The variant whose ratio to the no-op handler has the highest median, of the finalists or without a final of all. */
  String best(String script, List<String> variants) {
    List<String> candidates =
        variants.stream().filter(name -> !of(decided, script, name).isEmpty()).toList();
    return (candidates.isEmpty() ? variants : candidates)
        .stream()
            .max(Comparator.comparingDouble(name -> medianRatio(of(script, name))))
            .orElseThrow();
  }

  private static double medianRatio(List<Pair> pairs) {
    return Comparison.median(pairs.stream().map(Pair::ratio).toList());
  }
}
