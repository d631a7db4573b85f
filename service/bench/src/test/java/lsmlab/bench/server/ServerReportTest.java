package lsmlab.bench.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import lsmlab.bench.report.Comparison;
import org.junit.jupiter.api.Test;

class ServerReportTest {

  private static final ServerBench.Settings SETTINGS =
      new ServerBench.Settings(
          1, 1, 1, 1, 1, 0, 1, List.of(), Path.of("."), Path.of("."), Path.of("."));

  private final ServerReport report = new ServerReport();

  private Comparison row(String metric, String peer) {
    return report.rows.stream()
        .filter(row -> row.metric().equals(metric) && row.peerName().equals(peer))
        .findFirst()
        .orElseThrow();
  }

  private static Saturation.Pair pair(double ours, double cpuMicros, double noop) {
    return new Saturation.Pair(
        new Saturation.Figures(ours, cpuMicros, 1, 0.04),
        new Saturation.Figures(noop, 10, 0.9, 0.02));
  }

  @Test
  void onlyTheBestVariantIsHeldAgainstTheTargetAndCostsAreTheOtherWayRound() {
    Saturation figures = new Saturation(SETTINGS, System.err);
    for (int run = 0; run < 3; run++) {
      figures.addToField("get", "sync", pair(900, 12.5, 1000 + run));
      figures.addToField("get", "queue", pair(450, 20, 1000 + run));
      figures.addMetrics(pair(900 + run, 12, 1000));
    }
    report.saturation(figures, List.of("get"), List.of("sync", "queue"));
    Comparison best = row("get_saturated_sync", Saturation.NOOP);
    assertEquals(900.0 / 1001, best.ratio(), 1e-9);
    assertEquals(List.of(900.0 / 1002, 0.9), best.spread());
    assertEquals(true, best.met());
    assertEquals(null, row("get_saturated_queue", Saturation.NOOP).met());
    assertEquals(0.5, row("get_saturated_queue", "sync").ratio(), 1e-9);
    assertEquals(0.8, row("get_cpu_sync", Saturation.NOOP).ratio(), 1e-9);
    Comparison cost = row("get_metrics_on", Saturation.METRICS_OFF);
    assertEquals(0.901, cost.ratio(), 1e-9);
    assertEquals(false, cost.met());
    String text = report.markdown();
    assertTrue(
        text.contains("| `sync` | 900 | 0.899 (0.898 … 0.900), met | 3 | 1 | 12.50 | 100% | 4% |"),
        text);
    assertTrue(text.contains("| no-op | 1,001 |"), text);
  }

  @Test
  void whatMetricsCostIsSaidWithTheIntervalThatTheMedianLiesIn() {
    Saturation figures = new Saturation(SETTINGS, System.err);
    for (int run = 0; run < 100; run++) {
      figures.addMetrics(pair(950 + run % 100, 12, 1000));
    }
    report.saturation(figures, List.of(), List.of());
    String text = report.markdown();
    // Of 100 values in order those with the ranks 41 and 60: about √100 from the middle.
    assertTrue(text.contains("median 0.9995, 95% confidence interval 0.9900 … 1.0090"), text);
    assertTrue(text.contains("wanted ≥ 0.99, met."), text);
  }

  @Test
  void theBestIsTheOneWithTheHighestRatioNotWithTheHighestRate() {
    Saturation figures = new Saturation(SETTINGS, System.err);
    figures.addToField("put", "sharded", pair(1200, 10, 1800)); // while the machine was fast
    figures.addToField("put", "sync", pair(900, 10, 1000));
    report.saturation(figures, List.of("put"), List.of("sync", "sharded"));
    assertEquals(true, row("put_saturated_sync", Saturation.NOOP).met());
    assertEquals(null, row("put_saturated_sharded", Saturation.NOOP).met());
    Comparison toSync = row("put_saturated_sharded", "sync");
    assertEquals(1200.0 / 1800 / 0.9, toSync.ratio(), 1e-9);
    assertEquals("of no-op", toSync.unit());
  }

  @Test
  void finalistsAreJudgedByTheFinalAlone() {
    Saturation figures = new Saturation(SETTINGS, System.err);
    figures.addToField("get", "sync", pair(900, 10, 1000));
    figures.addToField("get", "mpmc", pair(990, 10, 1000)); // was lucky
    figures.addToField("get", "queue", pair(890, 10, 1000));
    for (double ratio : new double[] {0.86, 0.84, 0.85}) {
      figures.addToFinal("get", "sync", pair(1000 * ratio, 10, 1000));
      figures.addToFinal("get", "mpmc", pair(1000 * ratio - 100, 10, 1000));
    }
    report.saturation(figures, List.of("get"), List.of("sync", "mpmc", "queue"));
    Comparison sync = row("get_saturated_sync", Saturation.NOOP);
    assertEquals(0.85, sync.ratio(), 1e-9);
    assertEquals(3, sync.runs());
    assertEquals(true, sync.met());
    assertEquals(null, row("get_saturated_mpmc", Saturation.NOOP).met());
    assertEquals(0.75, row("get_saturated_mpmc", Saturation.NOOP).ratio(), 1e-9);
    assertEquals(null, row("get_saturated_queue", Saturation.NOOP).met());
    assertEquals(1.1, row("get_saturated_mpmc", "sync").ratio(), 1e-9);
  }

  private static Overload.Goodput goodput(double overloaded, double saturated, double wide) {
    return new Overload.Goodput(
        new Overload.Best(saturated + 100, wide + 50),
        new Overload.Best(saturated - 100, wide - 50),
        overloaded);
  }

  @Test
  void anOverloadThatIsNotRecoveredFromIsNotMet() {
    report.overload(
        Map.of(
            "stack",
            new Overload.Figures(
                goodput(720, 1000, 900),
                900,
                2,
                1.5,
                4,
                Double.NaN,
                3,
                0,
                5,
                2_000_000,
                1,
                1,
                4,
                Double.NaN)),
        goodput(700, 1000, 750),
        60);
    Comparison kept = row("overload_goodput_stack", "most over as many connections");
    assertEquals(false, kept.met());
    assertEquals(0.8, kept.ratio(), 1e-9);
    Comparison ofSaturated = row("overload_goodput_of_saturated_stack", "saturated");
    assertEquals(0.72, ofSaturated.ratio(), 1e-9);
    assertEquals(null, ofSaturated.met());
    assertEquals(false, row("overload_recovery_stack", "2 s").met());
    assertEquals(false, row("overload_no_reply_stack", "none, plus 1").met());
    Comparison wait = row("overload_queue_wait_mean_stack", "what can wait by goodput");
    assertEquals(0.75, wait.ratio(), 1e-9);
    assertEquals(false, wait.met());
    String text = report.markdown();
    assertTrue(
        text.contains(
            "| 1,100, 900 | 950, 850 | 720 | 0.80, **not met** | 0.72 | 900 | 2.00 (1.50, **not met**) | 4.00 |  | 3.0 |"),
        text);
    assertTrue(text.contains("| 2 | > 5, **not met** (4) |"), text);
    assertTrue(
        text.contains("| no-op with a value | 1,100, 900 | 800, 700 | 700 | 0.93 | 0.70 | |"),
        text);
  }

  @Test
  void aQueueWaitIsHeldAgainstItsBoundAndNoQueueHasNone() {
    Overload.Goodput kept = goodput(990, 1000, 1000);
    report.overload(
        Map.of(
            "queue", new Overload.Figures(kept, 900, 1, 1.5, 4, 2.5, 3, 0, 0, 1, 1, 1, 2, 3),
            "sync", new Overload.Figures(kept, 0, 0.01, 0, 0.02, 1, 3, 0, 0, 1, 1, 1, 0, 1)),
        kept,
        60);
    assertEquals(true, row("overload_queue_wait_mean_queue", "what can wait by goodput").met());
    assertTrue(
        report.rows.stream().noneMatch(row -> row.metric().endsWith("queue_wait_mean_sync")));
    String text = report.markdown();
    assertTrue(text.contains("| 900 | 1.00 (1.50) | 4.00 | 2.50 |"), text);
    assertTrue(text.contains("| ≤ 3, **not met** (2) |"), text);
    assertTrue(text.contains("| 0 | 0.01 | 0.02 | 1.00 |"), text);
  }

  @Test
  void waitsForTheCpuAreMeansOfWhatHappenedBetweenTwoReadings() {
    Server.CpuWaits before = new Server.CpuWaits(10, 5_000_000);
    assertEquals(2, new Server.CpuWaits(20, 25_000_000).meanMillisSince(before), 1e-9);
    assertEquals(Double.NaN, before.meanMillisSince(before));
  }

  @Test
  void aRateIsHeldAgainstWhatTheConnectionCarriesWhereThatIsLess() {
    Rates.Case put = Rates.CASES.getFirst();
    Rates.Case get = Rates.CASES.get(2);
    report.rates(
        Map.of(
            "queue",
            Map.of(
                put, new Rates.Figures(16_000, 15_000, 3, 0),
                get, new Rates.Figures(25_000, 16_000, 9, 2))));
    assertEquals(true, row("rate_put_small_queue", "offered").met());
    assertEquals(0.9375, row("rate_put_small_queue", "offered").ratio(), 1e-9);
    assertEquals(false, row("rate_get_queue", "offered").met());
    assertEquals(0.8, row("rate_get_queue", "offered").ratio(), 1e-9);
    String text = report.markdown();
    assertTrue(text.contains("15,000 of 16,000 (3.0) |"), text);
    assertTrue(text.contains("16,000 of 25,000, **not met**, **2 without a reply** (9.0) |"), text);
  }

  @Test
  void quantilesAreOfWhatWasCountedBetweenTwoScrapes() {
    String form =
        "h_bucket{a=\"b\",le=\"1\"} %d\nh_bucket{a=\"b\",le=\"2\"} %d\n"
            + "h_bucket{a=\"b\",le=\"+Inf\"} %d\nh_count{a=\"b\"} %d\n";
    Scrape before = Scrape.of("# HELP h text\n" + String.format(form, 100, 100, 100, 100));
    Scrape after = Scrape.of(String.format(form, 150, 199, 200, 200));
    assertEquals(1, after.quantile(before, "h", "a=\"b\"", 0.5));
    assertEquals(2, after.quantile(before, "h", "a=\"b\"", 0.99));
    assertEquals(Double.POSITIVE_INFINITY, after.quantile(before, "h", "a=\"b\"", 1));
    assertEquals(Double.NaN, after.quantile(after, "h", "a=\"b\"", 0.5));
  }
}
