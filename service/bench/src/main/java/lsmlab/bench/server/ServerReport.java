package lsmlab.bench.server;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import lsmlab.bench.report.Comparison;
import lsmlab.bench.report.Metric;

/** From the figures of the server's benchmark to rows of {@code server.json} and to Markdown. */
final class ServerReport {

  private static final double NONE = Double.NaN;

  /** Share of the goodput that a load beyond it may not take away. */
  private static final double KEPT_WANTED = 0.85;

  private static final double RECOVERY_SECONDS_WANTED = 2;

  /** Rate with request metrics by that without. */
  private static final double METRICS_WANTED = 0.99;

  private static final Map<String, Double> WANTED = Map.of("get", 0.85, "put", 0.75);

  /** Rows of {@code server.json}. */
  final List<Comparison> rows = new ArrayList<>();

  private final StringBuilder text = new StringBuilder();

  /**
   * Adds what saturation gave: every variant against the no-op handler and against {@code sync}. The variant whose ratio to
   * the no-op handler is the highest is held against the target.
   */
  void saturation(Saturation figures, List<String> scripts, List<String> variants) {
    for (String script : scripts) {
      String best = figures.best(script, variants);
      text.append("\n| ").append(script.toUpperCase(Locale.ROOT));
      text.append(", saturated | 1/s | of no-op (lowest … highest) | pairs | of `sync` | ");
      text.append(
          "CPU µs each | CPU busy | taken by the host |\n|---|--:|--:|--:|--:|--:|--:|--:|\n");
      for (String variant : variants) {
        List<Saturation.Pair> pairs = figures.of(script, variant);
        Comparison noop =
            againstNoop(
                metric(
                    script + "_saturated_" + variant,
                    "1/s",
                    true,
                    variant.equals(best) ? WANTED.get(script) : NONE),
                pairs,
                Saturation.Figures::goodput);
        add(noop);
        String toSync = variants.contains("sync") ? "1" : "";
        if (!variant.equals("sync") && variants.contains("sync")) {
          Comparison sync = againstSync(figures, script, variant);
          add(sync);
          toSync = String.format(Locale.ROOT, "%.2f×", sync.ratio());
        }
        add(
            againstNoop(
                metric(script + "_cpu_" + variant, "µs", false, NONE),
                pairs,
                Saturation.Figures::cpuMicros));
        line(
            "`" + variant + "`",
            ratio(noop) + (noop.met() == null ? "" : noop.met() ? ", met" : ", **not met**"),
            Integer.toString(pairs.size()),
            toSync,
            pairs.stream().map(Saturation.Pair::ours).toList());
      }
      line(Saturation.NOOP, "", "", "", noops(figures, script, variants));
      List<Saturation.Pair> withValue = figures.of(script, Saturation.NOOP_VALUE);
      if (!withValue.isEmpty()) {
        Comparison noop =
            againstNoop(
                metric(script + "_saturated_noop_value", "1/s", true, NONE),
                withValue,
                Saturation.Figures::goodput);
        line(
            Saturation.NOOP_VALUE,
            ratio(noop),
            Integer.toString(withValue.size()),
            "",
            withValue.stream().map(Saturation.Pair::ours).toList());
      }
    }
    if (!figures.metrics().isEmpty()) {
      metricsCost(figures.metrics());
    }
  }

  /** The no-op handler's figures beside all variants, in the field. */
  private static List<Saturation.Figures> noops(
      Saturation figures, String script, List<String> variants) {
    return variants.stream()
        .flatMap(variant -> figures.inField(script, variant).stream())
        .map(Saturation.Pair::noop)
        .toList();
  }

  private void metricsCost(List<Saturation.Pair> intervals) {
    Comparison cost =
        compared(
            metric("get_metrics_on", "1/s", true, METRICS_WANTED),
            Saturation.METRICS_OFF,
            intervals,
            Saturation.Figures::goodput);
    add(cost);
    double[] ratios = intervals.stream().mapToDouble(Saturation.Pair::ratio).sorted().toArray();
    int outside = ranksOutsideMedian(ratios.length);
    double low = ratios[outside];
    double high = ratios[ratios.length - 1 - outside];
    boolean isUndecided = low < METRICS_WANTED && high >= METRICS_WANTED;
    text.append(
        String.format(
            Locale.ROOT,
            "%nRequest metrics on against off, `sync`, GET, %d pairs of intervals in one process: median %.4f, "
                + "95%% confidence interval %.4f … %.4f, wanted ≥ %s, %s%s.%n",
            cost.runs(),
            cost.ratio(),
            low,
            high,
            METRICS_WANTED,
            cost.met() ? "met" : "**not met**",
            isUndecided ? " by the median; the interval allows either" : ""));
  }

  /**
   * How many of so many values in order lie below, and as many above, the interval in which the true median is with 95%
   * confidence, whatever they are distributed like: by the normal approximation of the binomial distribution.
   */
  private static int ranksOutsideMedian(int values) {
    return Math.max(0, (int) Math.floor(values / 2.0 - 0.98 * Math.sqrt(values)));
  }

  /** Adds what overload gave, by variant, and of the no-op handler. */
  void overload(Map<String, Overload.Figures> figures, Overload.Goodput noop, int seconds) {
    text.append("\n| twice the saturated GET rate for ").append(seconds);
    text.append(
        " s | saturated 1/s, before and after | over as many connections | goodput 1/s | of that | of saturated | 503 1/s | queue wait, mean (bound) ms | its p99 ms"
            + " | CPU wait ms | reply p99 ms | timed out | no reply | resident MB | normal after s (calm seconds over) |\n");
    text.append("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n");
    figures.forEach(
        (variant, one) -> {
          add(one(variant, "no_reply", "requests", false, 1, one.broken() + 1, 1, "none, plus 1"));
          add(
              one(
                  variant,
                  "goodput",
                  "1/s",
                  true,
                  KEPT_WANTED,
                  one.goodput().overloaded(),
                  one.goodput().wide(),
                  "most over as many connections"));
          add(
              one(
                  variant,
                  "goodput_of_saturated",
                  "1/s",
                  true,
                  NONE,
                  one.goodput().overloaded(),
                  one.goodput().saturated(),
                  "saturated"));
          if (one.queueWaitBoundMillis() > 0) {
            add(
                one(
                    variant,
                    "queue_wait_mean",
                    "ms",
                    false,
                    1,
                    one.queueWaitMeanMillis(),
                    one.queueWaitBoundMillis(),
                    "what can wait by goodput"));
          }
          add(
              one(
                  variant,
                  "recovery",
                  "s",
                  false,
                  1,
                  Double.isNaN(one.recoverySeconds()) ? Double.MAX_VALUE : one.recoverySeconds(),
                  RECOVERY_SECONDS_WANTED,
                  "2 s"));
          text.append(
              String.format(
                  Locale.ROOT,
                  "| `%s` | %s | %,.0f | %s | %.2f | %s | %.1f | %d | %s | %,d | %s |%n",
                  variant,
                  kept(one.goodput(), KEPT_WANTED),
                  one.rejected(),
                  queueWait(one),
                  one.queueWaitMillis(),
                  Double.isNaN(one.cpuWaitMillis())
                      ? ""
                      : String.format(Locale.ROOT, "%.2f", one.cpuWaitMillis()),
                  one.replyMillis(),
                  one.timedOut(),
                  one.broken() == 0 ? "0" : "**" + one.broken() + "**",
                  one.residentBytes() / 1_000_000,
                  recovery(one)));
        });
    text.append("| ").append(Saturation.NOOP_VALUE).append(" | ").append(kept(noop, 0));
    text.append(" | | | | | | | | | |\n");
  }

  private static String kept(Overload.Goodput goodput, double wanted) {
    double kept = goodput.overloaded() / goodput.wide();
    return String.format(
        Locale.ROOT,
        "%,.0f, %,.0f | %,.0f, %,.0f | %,.0f | %.2f%s | %.2f",
        goodput.before().saturated(),
        goodput.after().saturated(),
        goodput.before().wide(),
        goodput.after().wide(),
        goodput.overloaded(),
        kept,
        kept >= wanted ? "" : ", **not met**",
        goodput.overloaded() / goodput.saturated());
  }

  private static String recovery(Overload.Figures one) {
    double seconds = one.recoverySeconds();
    String within =
        Double.isNaN(seconds)
            ? "> " + Overload.NORMAL_SECONDS
            : String.format(Locale.ROOT, "≤ %.0f", seconds);
    String missed = seconds <= RECOVERY_SECONDS_WANTED ? "" : ", **not met**";
    return String.format(Locale.ROOT, "%s%s (%d)", within, missed, one.calmSecondsOver());
  }

  /** The mean wait and its bound, where there is one. */
  private static String queueWait(Overload.Figures one) {
    if (one.queueWaitBoundMillis() == 0) {
      return String.format(Locale.ROOT, "%.2f", one.queueWaitMeanMillis());
    }
    return String.format(
        Locale.ROOT,
        "%.2f (%.2f%s)",
        one.queueWaitMeanMillis(),
        one.queueWaitBoundMillis(),
        one.queueWaitMeanMillis() <= one.queueWaitBoundMillis() ? "" : ", **not met**");
  }

  /** Adds what became of each variant at each rate. */
  void rates(Map<String, Map<Rates.Case, Rates.Figures>> figures) {
    text.append("\n| goodput 1/s, of what one connection carries at most (p99 ms) |");
    Rates.CASES.forEach(
        each ->
            text.append(String.format(Locale.ROOT, " `%s` at %,d/s |", each.name(), each.rate())));
    text.append("\n|---|").append("--:|".repeat(Rates.CASES.size())).append('\n');
    figures.forEach(
        (variant, all) -> {
          text.append("| `").append(variant).append("` |");
          all.forEach(
              (which, one) -> {
                Metric metric =
                    metric("rate_" + which.name() + "_" + variant, "1/s", true, KEPT_WANTED);
                double most = Math.min(one.closed(), which.rate());
                Comparison row =
                    Comparison.of(
                        metric, "offered", List.of(one.goodput()), List.of(most), "offered");
                add(row);
                text.append(
                    String.format(
                        Locale.ROOT,
                        " %,.0f of %,.0f%s%s (%.1f) |",
                        one.goodput(),
                        one.closed(),
                        row.met() ? "" : ", **not met**",
                        one.broken() == 0 ? "" : ", **" + one.broken() + " without a reply**",
                        one.millis()));
              });
          text.append('\n');
        });
  }

  /** The tables, as Markdown. */
  String markdown() {
    return text.toString().strip() + "\n";
  }

  private void add(Comparison row) {
    rows.add(row);
  }

  private void line(
      String name, String ofNoop, String pairs, String ofSync, List<Saturation.Figures> runs) {
    text.append(
        String.format(
            Locale.ROOT,
            "| %s | %,.0f | %s | %s | %s | %.2f | %.0f%% | %.0f%% |%n",
            name,
            median(runs, Saturation.Figures::goodput),
            ofNoop,
            pairs,
            ofSync,
            median(runs, Saturation.Figures::cpuMicros),
            100 * median(runs, Saturation.Figures::serviceCpuShare),
            100 * median(runs, Saturation.Figures::hostShare)));
  }

  private static Comparison againstNoop(
      Metric metric, List<Saturation.Pair> pairs, ToDoubleFunction<Saturation.Figures> what) {
    return compared(metric, Saturation.NOOP, pairs, what);
  }

  private static Comparison compared(
      Metric metric,
      String peer,
      List<Saturation.Pair> pairs,
      ToDoubleFunction<Saturation.Figures> what) {
    return Comparison.of(
        metric,
        peer,
        pairs.stream().map(pair -> what.applyAsDouble(pair.ours())).toList(),
        pairs.stream().map(pair -> what.applyAsDouble(pair.noop())).toList(),
        peer);
  }

  /** By way of the no-op handler: each variant's share of it, by that of {@code sync} in the same repetition. */
  private static Comparison againstSync(Saturation figures, String script, String variant) {
    return Comparison.of(
        metric(script + "_saturated_" + variant, "of no-op", true, NONE),
        "sync",
        ratios(figures.inField(script, variant)),
        ratios(figures.inField(script, "sync")),
        "");
  }

  private static List<Double> ratios(List<Saturation.Pair> pairs) {
    return pairs.stream().map(Saturation.Pair::ratio).toList();
  }

  private static Comparison one(
      String variant,
      String what,
      String unit,
      boolean higherIsBetter,
      double wanted,
      double ours,
      double peer,
      String peerName) {
    return Comparison.of(
        metric("overload_" + what + "_" + variant, unit, higherIsBetter, wanted),
        peerName,
        List.of(ours),
        List.of(peer),
        peerName);
  }

  private static Metric metric(String name, String unit, boolean higherIsBetter, double wanted) {
    return new Metric(name, name, unit, higherIsBetter, wanted, NONE);
  }

  private static String ratio(Comparison row) {
    return String.format(
        Locale.ROOT,
        "%.3f (%.3f … %.3f)",
        row.ratio(),
        row.spread().getFirst(),
        row.spread().getLast());
  }

  private static double median(
      List<Saturation.Figures> runs, ToDoubleFunction<Saturation.Figures> what) {
    return Comparison.median(runs.stream().map(what::applyAsDouble).toList());
  }
}
