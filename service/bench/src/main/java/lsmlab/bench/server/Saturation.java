package lsmlab.bench.server;

import java.io.IOException;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Saturates servers in turn and keeps every figure. The order turns round with each repetition, so that a machine that
 * grows slower or faster meanwhile favours nobody; each measurement is a server process of its own.
 */
final class Saturation {

  /** one-nio with an empty reply; what the ratios refer to. */
  static final String NOOP = "no-op";

  /** one-nio with a reply of a value's size. */
  static final String NOOP_VALUE = "no-op with a value";

  /** The variant {@code sync} in one process, with and without request metrics in turn. */
  static final String METRICS_ON = "sync, metrics on";

  static final String METRICS_OFF = "sync, metrics off";

  private static final int METRICS_INTERVAL_SECONDS = 1;

  /** Figures of one measurement. */
  record Figures(double goodput, double cpuMicros, double serviceCpuShare) {}

  private final ServerBench.Settings settings;
  private final PrintStream progress;
  private final Map<String, Map<String, List<Figures>>> figures = new LinkedHashMap<>();

  Saturation(ServerBench.Settings settings, PrintStream progress) {
    this.settings = settings;
    this.progress = progress;
  }

  /** Measures each server {@code repetitions} times with a script, get or put. */
  void measure(String script, List<String> servers, int repetitions)
      throws IOException, InterruptedException {
    for (int repetition = 0; repetition < repetitions; repetition++) {
      for (String name : repetition % 2 == 0 ? servers : servers.reversed()) {
        progress.printf("%s %s %d/%d: ", script, name, repetition + 1, repetitions);
        progress.flush();
        Figures one = once(script, name);
        add(script, name, one);
        progress.printf(
            "%,.0f/s, %.2f µs of CPU each, CPU %.0f%% busy%n",
            one.goodput(), one.cpuMicros(), 100 * one.serviceCpuShare());
      }
    }
  }

  /**
   * Measures what request metrics cost a GET: one process, in which they are switched on and off from interval to
   * interval, so that what one JVM happens to compile otherwise than another does not matter. The order within a pair
   * turns round with each pair; the first is not kept, because it makes the JVM compile both ways.
   */
  void measureMetrics(int pairs) throws IOException, InterruptedException {
    progress.printf("get with and without request metrics, %d pairs: ", pairs);
    progress.flush();
    try (Server server = Server.service(settings, Map.of("variant", "sync"), true)) {
      server.pin(settings, false);
      Load.warmUp(settings, server, "get");
      server.pin(settings, true);
      for (int pair = -1; pair < pairs; pair++) {
        for (boolean on :
            pair % 2 == 0 ? new boolean[] {true, false} : new boolean[] {false, true}) {
          server.countRequests(on);
          Load load = saturate(server, "get", METRICS_INTERVAL_SECONDS);
          if (pair >= 0) {
            add("get", on ? METRICS_ON : METRICS_OFF, figures(load));
          }
        }
        progress.print(".");
        progress.flush();
      }
    }
    progress.println();
  }

  /** Keeps one measurement. */
  void add(String script, String name, Figures one) {
    figures
        .computeIfAbsent(script, unused -> new LinkedHashMap<>())
        .computeIfAbsent(name, unused -> new ArrayList<>())
        .add(one);
  }

  private Figures once(String script, String name) throws IOException, InterruptedException {
    try (Server server = start(name, script.equals("get"))) {
      server.pin(settings, false);
      Load.warmUp(settings, server, script);
      server.pin(settings, true);
      saturate(server, script, 1);
      Load load = saturate(server, script, settings.seconds());
      if (load.brokenReplies() > 0) {
        throw new IOException(name + " left requests without a reply: " + load.report());
      }
      return figures(load);
    }
  }

  private static Figures figures(Load load) {
    return new Figures(load.goodput(), load.cpuMicrosPerReply(), load.serviceCpuShare());
  }

  private Load saturate(Server server, String script, int seconds)
      throws IOException, InterruptedException {
    return Load.apply(settings, server, script, Load.SATURATING, settings.connections(), seconds);
  }

  private Server start(String name, boolean loaded) throws IOException, InterruptedException {
    return switch (name) {
      case NOOP -> Server.noop(settings, 0);
      case NOOP_VALUE -> Server.noop(settings, settings.valueBytes());
      default -> Server.service(settings, Map.of("variant", name), loaded);
    };
  }

  /** Every measurement of a server with a script, in order; empty where there is none. */
  List<Figures> of(String script, String name) {
    return figures.getOrDefault(script, Map.of()).getOrDefault(name, List.of());
  }
}
