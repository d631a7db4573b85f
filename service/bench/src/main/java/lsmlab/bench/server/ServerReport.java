package lsmlab.bench.server;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import lsmlab.bench.report.Comparison;
import lsmlab.bench.report.Metric;

/** From the figures of the server's benchmark to rows of {@code server.json} and to Markdown. */
final class ServerReport {

  private static final double NONE = Double.NaN;
  private static final Map<String, Double> WANTED = Map.of("get", 0.85, "put", 0.75);

  /** Rows of {@code server.json}. */
  final List<Comparison> rows = new ArrayList<>();

  private final StringBuilder text = new StringBuilder();

  /** Adds what saturation gave: every variant against the no-op handler and against {@code sync}. */
  void saturation(Saturation figures, List<String> scripts, List<String> variants) {
    for (String script : scripts) {
      String best =
          variants.stream()
              .max(Comparator.comparingDouble(v -> median(figures, script, v)))
              .orElseThrow();
      text.append("\n| ").append(script.toUpperCase(Locale.ROOT));
      text.append(", saturated | 1/s | of no-op (lowest … highest) | of `sync` | CPU µs each | ");
      text.append("CPU busy |\n|---|--:|--:|--:|--:|--:|\n");
      for (String variant : variants) {
        Metric metric =
            metric(
                script + "_saturated_" + variant,
                "1/s",
                true,
                variant.equals(best) ? WANTED.get(script) : NONE);
        Comparison noop = against(metric, figures, script, variant, Saturation.NOOP);
        add(noop);
        String toSync = "1";
        if (!variant.equals("sync") && variants.contains("sync")) {
          Comparison sync = against(metric, figures, script, variant, "sync");
          add(sync);
          toSync = String.format(Locale.ROOT, "%.2f×", sync.ratio());
        }
        add(cpu(figures, script, variant));
        line(
            "`" + variant + "`",
            noop.ours(),
            ratio(noop) + (noop.met() == null ? "" : noop.met() ? ", met" : ", **not met**"),
            toSync,
            figures.of(script, variant));
      }
      for (String other : List.of(Saturation.NOOP, Saturation.NOOP_VALUE, Saturation.METRICS_OFF)) {
        if (!figures.of(script, other).isEmpty()) {
          line(other, median(figures, script, other), "", "", figures.of(script, other));
        }
      }
      if (variants.contains("sync") && !figures.of(script, Saturation.METRICS_OFF).isEmpty()) {
        Metric metric = metric(script + "_metrics_on", "1/s", true, 0.99);
        Comparison cost = against(metric, figures, script, "sync", Saturation.METRICS_OFF);
        add(cost);
        text.append("\nRequest metrics on against off (").append(script).append("): ");
        text.append(ratio(cost)).append(", wanted ≥ 0.99.\n");
      }
    }
  }

  /** Adds what overload gave, by variant. */
  void overload(Map<String, Overload.Figures> figures, int seconds) {
    text.append("\n| twice the saturated GET rate for ").append(seconds);
    text.append(
        " s | saturated 1/s | goodput 1/s | kept | 503 1/s | queue wait p99 (bound) ms | reply p99 ms"
            + " | timed out | resident MB | normal after s |\n");
    text.append("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n");
    figures.forEach(
        (variant, one) -> {
          add(
              one(
                  variant,
                  "goodput",
                  "1/s",
                  true,
                  0.85,
                  one.goodput(),
                  one.saturated(),
                  "saturated"));
          if (one.queueWaitBoundMillis() > 0) {
            add(
                one(
                    variant,
                    "queue_wait_p99",
                    "ms",
                    false,
                    NONE,
                    one.queueWaitMillis(),
                    one.queueWaitBoundMillis(),
                    "capacity by goodput"));
          }
          add(
              one(
                  variant,
                  "recovery",
                  "s",
                  false,
                  1,
                  Double.isNaN(one.recoverySeconds()) ? Double.MAX_VALUE : one.recoverySeconds(),
                  2,
                  "2 s"));
          text.append(
              String.format(
                  Locale.ROOT,
                  "| `%s` | %,.0f | %,.0f | %.2f%s | %,.0f | %.2f (%.2f) | %.1f | %d | %,d | %s |%n",
                  variant,
                  one.saturated(),
                  one.goodput(),
                  one.goodput() / one.saturated(),
                  one.goodput() >= 0.85 * one.saturated() ? "" : ", **not met**",
                  one.rejected(),
                  one.queueWaitMillis(),
                  one.queueWaitBoundMillis(),
                  one.replyMillis(),
                  one.timedOut(),
                  one.residentBytes() / 1_000_000,
                  Double.isNaN(one.recoverySeconds())
                      ? "**not met**"
                      : String.format(Locale.ROOT, "≤ %.0f", one.recoverySeconds())));
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
      String name, double rate, String ofNoop, String ofSync, List<Saturation.Figures> runs) {
    text.append(
        String.format(
            Locale.ROOT,
            "| %s | %,.0f | %s | %s | %.2f | %.0f%% |%n",
            name,
            rate,
            ofNoop,
            ofSync,
            median(runs, Saturation.Figures::cpuMicros),
            100 * median(runs, Saturation.Figures::serviceCpuShare)));
  }

  private static Comparison cpu(Saturation figures, String script, String variant) {
    return Comparison.of(
        metric(script + "_cpu_" + variant, "µs", false, NONE),
        Saturation.NOOP,
        values(figures.of(script, variant), Saturation.Figures::cpuMicros),
        values(figures.of(script, Saturation.NOOP), Saturation.Figures::cpuMicros),
        Saturation.NOOP);
  }

  private static Comparison against(
      Metric metric, Saturation figures, String script, String ours, String peer) {
    return Comparison.of(
        metric,
        peer,
        values(figures.of(script, ours), Saturation.Figures::goodput),
        values(figures.of(script, peer), Saturation.Figures::goodput),
        peer.equals("sync") ? "" : peer);
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

  private static double median(Saturation figures, String script, String name) {
    return median(figures.of(script, name), Saturation.Figures::goodput);
  }

  private static double median(
      List<Saturation.Figures> runs, ToDoubleFunction<Saturation.Figures> what) {
    return Comparison.median(values(runs, what));
  }

  private static List<Double> values(
      List<Saturation.Figures> runs, ToDoubleFunction<Saturation.Figures> what) {
    return runs.stream().map(what::applyAsDouble).toList();
  }
}
