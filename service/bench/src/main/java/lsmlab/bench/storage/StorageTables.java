package lsmlab.bench.storage;

import java.util.List;
import java.util.Locale;
import lsmlab.bench.harness.Figures;
import lsmlab.bench.harness.Numbers;
import lsmlab.bench.harness.Summary;

/** The tables of the storage benchmark, as Markdown. */
public final class StorageTables {

  /** The peer to which the targets refer. */
  static final String REFERENCE = "rocksdb-tuned";

  private StorageTables() {}

  /**
   * Returns a table with a row for each metric and peer, and a table of the overwrite by tenths.
   *
   * @param engines names of the engines, the lab's own first
   */
  public static String of(Figures figures, List<String> engines) {
    String ours = engines.getFirst();
    StringBuilder table = new StringBuilder();
    table.append("| | unit | `").append(ours);
    table.append("` | peer | | ratio (lowest … highest) | runs | better | target | |\n");
    table.append("|---|---|--:|--:|---|--:|--:|---|---|---|\n");
    for (Metric metric : Metric.ALL) {
      for (String peer : engines.subList(1, engines.size())) {
        if (figures.has(ours, metric.name()) && figures.has(peer, metric.name())) {
          table.append(row(figures, metric, ours, peer));
        }
      }
    }
    if (figures.has(ours, "overwrite")) {
      table.append(tenths(figures, engines));
    }
    return table.toString();
  }

  private static String row(Figures figures, Metric metric, String ours, String peer) {
    Summary own = figures.summary(ours, metric.name());
    Summary ratio = figures.paired(ours, peer, metric.name(), metric::ratio);
    boolean boundByValue = !Double.isNaN(metric.valueWanted());
    String target = boundByValue || peer.equals(REFERENCE) ? metric.target() : "";
    boolean met =
        boundByValue
            ? metric.ratio(own.median(), metric.valueWanted()) >= 1
            : ratio.median() >= metric.ratioWanted();
    return String.format(
        Locale.ROOT,
        "| %s | %s | %s | %s | `%s` | %s× (%s … %s) | %d | %s | %s | %s |%n",
        metric.text(),
        metric.unit(),
        Numbers.text(own.median()),
        Numbers.text(figures.summary(peer, metric.name()).median()),
        peer,
        Numbers.text(ratio.median()),
        Numbers.text(ratio.lowest()),
        Numbers.text(ratio.highest()),
        ratio.runs(),
        winner(ratio, ours, peer),
        target,
        target.isEmpty() ? "" : met ? "met" : "**not met**");
  }

  /** Returns the engine that was better in every round, or nobody. */
  static String winner(Summary ratio, String ours, String peer) {
    return ratio.lowest() > 1
        ? "`" + ours + "`"
        : ratio.highest() < 1 ? "`" + peer + "`" : "neither";
  }

  private static String tenths(Figures figures, List<String> engines) {
    StringBuilder table = new StringBuilder("\n| overwrite, by tenths |");
    for (int part = 1; part <= WriteWorkloads.PARTS; part++) {
      table.append(' ').append(part).append(" |");
    }
    table.append("\n|---|").append("--:|".repeat(WriteWorkloads.PARTS)).append('\n');
    for (String engine : engines) {
      if (figures.has(engine, "overwrite")) {
        line(table, figures, engine, "1/s", "overwrite_rate_");
        line(table, figures, engine, "write amplification", "overwrite_amplification_");
      }
    }
    return table.toString();
  }

  private static void line(
      StringBuilder table, Figures figures, String engine, String what, String metric) {
    table.append("| `").append(engine).append("`, ").append(what).append(" |");
    for (int part = 1; part <= WriteWorkloads.PARTS; part++) {
      double median = figures.summary(engine, metric + part).median();
      table.append(' ').append(Numbers.text(median)).append(" |");
    }
    table.append('\n');
  }
}
