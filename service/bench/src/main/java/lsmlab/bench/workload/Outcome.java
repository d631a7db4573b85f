package lsmlab.bench.workload;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import lsmlab.bench.report.MachineStops;
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

  /**
   * The same with what a watch of the machine tells of the stalls, and one figure more: the longest of them without the
   * time in which no CPU could be had.
   */
  public Outcome beside(MachineStops stops) {
    List<Stall> told = stalls.stream().map(stall -> stall.beside(stops)).toList();
    Map<String, Double> more = new LinkedHashMap<>(figures);
    told.stream()
        .mapToDouble(Stall::runningMillis)
        .max()
        .ifPresent(longest -> more.put("overwrite_stall_running_max", longest));
    return new Outcome(more, told);
  }
}
