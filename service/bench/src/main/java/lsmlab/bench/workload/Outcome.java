package lsmlab.bench.workload;

import java.util.List;
import java.util.Map;
import lsmlab.bench.report.Stall;

/**
 * What a workload found out. Travels from the fork as JSON.
 *
 * @param figures by metric, in the metric's unit
 * @param stalls the longest, longest first; empty where nobody looked
 */
public record Outcome(Map<String, Double> figures, List<Stall> stalls) {

  /** Figures alone. */
  public static Outcome of(Map<String, Double> figures) {
    return new Outcome(figures, List.of());
  }
}
