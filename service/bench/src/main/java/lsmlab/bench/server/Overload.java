package lsmlab.bench.server;

import java.io.IOException;
import java.io.PrintStream;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import lsmlab.bench.harness.Figures;
import lsmlab.bench.harness.Numbers;

/**
 * Offers each variant twice the GETs that it can serve, over more connections than its queue has places. Does so with every
 * refusal sent at once, and with a limit on refusals a second. Compares the goodput with the rate that the same process
 * reached just before, when saturated.
 */
public final class Overload {

  private static final int QUEUE_CAPACITY = 128;

  /** Warm-ups of a process: more than the ladder's one, because a process is measured once, for a minute. */
  private static final int WARMUPS = 3;

  /** Target: highest ratio of the resident memory after the overload to that before it. */
  private static final double MEMORY_RATIO_MAX = 1.10;

  private final ServerSettings settings;
  private final int connections;
  private final int seconds;
  private final PrintStream progress;

  /**
   * @param connections number of connections of the overload
   * @param seconds length of the overload
   */
  public Overload(ServerSettings settings, int connections, int seconds, PrintStream progress) {
    this.settings = settings;
    this.connections = connections;
    this.seconds = seconds;
    this.progress = progress;
  }

  /** Overloads each variant once for each limit on refusals a second; 0 means no limit. */
  public Figures measure(List<String> variants, List<Integer> refusalsPerSecondMax)
      throws IOException, InterruptedException {
    Figures figures = new Figures(progress);
    for (int refusals : refusalsPerSecondMax) {
      List<String> names = variants.stream().map(variant -> name(variant, refusals)).toList();
      figures.measure("overload", names, 1, name -> measure(name.split(" ")[0], refusals));
    }
    return figures;
  }

  private static String name(String variant, int refusals) {
    return variant + " " + refusals;
  }

  private Map<String, Double> measure(String variant, int refusals)
      throws IOException, InterruptedException {
    Map<String, String> keys = new LinkedHashMap<>();
    keys.put("queue_capacity", Integer.toString(QUEUE_CAPACITY));
    keys.put("refusals_per_second_max", Integer.toString(refusals));
    try (ServerProcess server =
        ServerProcess.start(settings, Contestant.named(variant).with(keys))) {
      for (int part = 0; part < WARMUPS; part++) {
        Load.warmUp(settings, server, "get");
      }
      double saturated = Load.saturate(settings, server, "get", progress).goodput();
      final double residentBefore = server.residentBytes();
      long rate = Math.max(1, (long) (2 * saturated));
      Load load = Load.apply(settings, server, "get", rate, connections, seconds);
      Map<String, Double> values = new LinkedHashMap<>();
      values.put("saturated", saturated);
      values.put("goodput", load.goodput());
      values.put("refused", load.status(503) / load.seconds());
      values.put("p99", load.responseMillisP99());
      values.put("lost", (double) load.lost());
      values.put("resident_before", residentBefore / 1e6);
      values.put("resident_after", server.residentBytes() / 1e6);
      return values;
    }
  }

  /** The table, as Markdown. */
  public static String table(Figures figures, int seconds) {
    StringBuilder table = new StringBuilder("| twice the saturated rate for ");
    table.append(seconds);
    table.append(
        " s | refusals a second at most | saturated 1/s | goodput 1/s | of it | 503 1/s | p99 of responses, ms"
            + " | lost | resident MB, before and after | |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|---|\n");
    for (String name : figures.contestants()) {
      String[] words = name.split(" ");
      double saturated = median(figures, name, "saturated");
      double goodput = median(figures, name, "goodput");
      double lost = median(figures, name, "lost");
      double before = median(figures, name, "resident_before");
      double after = median(figures, name, "resident_after");
      boolean met = lost == 0 && after <= MEMORY_RATIO_MAX * before;
      table.append(
          String.format(
              Locale.ROOT,
              "| `%s` | %s | %,.0f | %,.0f | %.2f | %,.0f | %s | %.0f | %,.0f, %,.0f | %s |%n",
              words[0],
              words[1].equals("0") ? "any" : words[1],
              saturated,
              goodput,
              goodput / saturated,
              median(figures, name, "refused"),
              Numbers.text(median(figures, name, "p99")),
              lost,
              before,
              after,
              met ? "met" : "**not met**"));
    }
    return table
        .append("\nTarget: nothing lost, and at most ")
        .append(String.format(Locale.ROOT, "%.0f%%", 100 * (MEMORY_RATIO_MAX - 1)))
        .append(" more memory.\n")
        .toString();
  }

  private static double median(Figures figures, String name, String metric) {
    return figures.summary(name, metric).median();
  }
}
