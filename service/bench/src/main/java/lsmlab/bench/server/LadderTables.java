package lsmlab.bench.server;

import static lsmlab.bench.server.Contestant.JAVA_SOCKETS;
import static lsmlab.bench.server.Contestant.LSM;
import static lsmlab.bench.server.Contestant.MEMORY;
import static lsmlab.bench.server.Contestant.NOOP;
import static lsmlab.bench.server.Contestant.NOOP_WITH_VALUE;
import static lsmlab.bench.server.Contestant.NULL;

import java.util.List;
import java.util.Locale;
import lsmlab.bench.harness.Figures;
import lsmlab.bench.harness.Numbers;
import lsmlab.bench.harness.Summary;

/** The ladder's tables, as Markdown. */
public final class LadderTables {

  /** Target: highest ratio of the CPU time of {@code null} to that of the no-op handler with a response of the same size. */
  private static final double NULL_RATIO_MAX = 1.10;

  /** Target: highest CPU time of a GET of {@code lsm} minus that of {@code null}, in µs. */
  private static final double LSM_MORE_MAX = 2;

  /** Target: lowest ratio of a variant's rate to that of the 40-line server with the same hand-off. */
  private static final double VARIANT_RATIO_MIN = 0.9;

  /** A rung, and the one below it with which it is compared; null for the lowest. */
  private record Step(String rung, String below) {}

  private static final List<Step> STEPS =
      List.of(
          new Step(NOOP, null),
          new Step(NULL, NOOP),
          new Step(NOOP_WITH_VALUE, NOOP),
          new Step(MEMORY, NULL),
          new Step(LSM, NULL));

  private LadderTables() {}

  /** Returns the tables of all rungs and variants, GET before PUT. */
  public static String of(Figures figures, List<String> variants, boolean nativeTransport) {
    StringBuilder tables = new StringBuilder();
    for (String transport : nativeTransport ? List.of("", JAVA_SOCKETS) : List.of("")) {
      for (String method : List.of("get", "put")) {
        rungs(tables, figures, method, transport);
      }
    }
    for (String method : List.of("get", "put")) {
      variants(tables, figures, method, variants);
    }
    if (!nativeTransport) {
      tables.append(
          "\nJava's sockets only: one-nio's native transport needs glibc 2.38, which this machine lacks.\n");
    }
    return tables.toString();
  }

  private static void rungs(
      StringBuilder tables, Figures figures, String method, String transport) {
    String cpu = method + "_cpu";
    tables.append("\n| ").append(method.toUpperCase(Locale.ROOT)).append(transport);
    tables.append(
        " | 1/s | CPU µs a request | more than | µs more | times | target | |\n"
            + "|---|--:|--:|---|--:|--:|---|---|\n");
    for (Step step : STEPS) {
      String rung = step.rung + transport;
      if (method.equals("put") && step.rung.equals(NOOP_WITH_VALUE)) {
        continue; // PUT has no value to answer with
      }
      tables.append("| ").append(step.rung).append(" | ");
      tables.append(figures.summary(rung, method + "_rate").text()).append(" | ");
      tables.append(figures.summary(rung, cpu).text()).append(" | ");
      if (step.below == null) {
        tables.append("| | | | |\n");
        continue;
      }
      Summary more = figures.paired(rung, step.below + transport, cpu, (a, b) -> a - b);
      Summary times = figures.paired(rung, step.below + transport, cpu, (a, b) -> a / b);
      tables.append(step.below).append(" | ").append(more.text());
      tables.append(" | ").append(times.text()).append(" | ");
      tables.append(check(step.rung, method, more, times)).append(" |\n");
    }
  }

  private static String check(String rung, String method, Summary more, Summary times) {
    if (rung.equals(NULL)) {
      return "≤ " + NULL_RATIO_MAX + "× | " + met(times.median() <= NULL_RATIO_MAX);
    }
    if (rung.equals(LSM) && method.equals("get")) {
      return "≤ " + Numbers.text(LSM_MORE_MAX) + " µs | " + met(more.median() <= LSM_MORE_MAX);
    }
    return " | ";
  }

  private static void variants(
      StringBuilder tables, Figures figures, String method, List<String> variants) {
    String rate = method + "_rate";
    tables.append("\n| ").append(method.toUpperCase(Locale.ROOT));
    tables.append(
        " of `lsm` | 1/s | of `sync` | of the 40 lines | with hand-off | target | | CPU µs a request |\n"
            + "|---|--:|--:|--:|---|---|---|--:|\n");
    for (String variant : variants) {
      String name = variant.equals("sync") ? LSM : variant;
      String peer = Contestant.peerOf(variant);
      Summary ofPeer = figures.paired(name, peer, rate, (a, b) -> a / b);
      String[] handOff = peer.split(", ");
      tables.append("| `").append(variant).append("` | ");
      tables.append(figures.summary(name, rate).text()).append(" | ");
      tables.append(figures.paired(name, LSM, rate, (a, b) -> a / b).text()).append(" | ");
      tables.append(ofPeer.text()).append(" | ").append(handOff[1]);
      tables.append(" | ≥ ").append(VARIANT_RATIO_MIN).append(" | ");
      tables.append(met(ofPeer.median() >= VARIANT_RATIO_MIN)).append(" | ");
      tables.append(figures.summary(name, method + "_cpu").text()).append(" |\n");
    }
    for (String peer : List.of(Contestant.ON_SELECTOR, Contestant.WITH_POOL)) {
      tables.append("| ").append(peer).append(" | ");
      tables.append(figures.summary(peer, rate).text()).append(" | ");
      tables.append(figures.paired(peer, LSM, rate, (a, b) -> a / b).text());
      tables.append(" | | | | | ");
      tables.append(figures.summary(peer, method + "_cpu").text()).append(" |\n");
    }
  }

  private static String met(boolean isMet) {
    return isMet ? "met" : "**not met**";
  }
}
