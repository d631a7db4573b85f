package lsmlab.bench.report;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/**
 * One metric of ours against one peer: a row.
 *
 * @param metric name of a {@link Metric}
 * @param ours median over the runs
 * @param peer median over the runs
 * @param ratio median of the ratios of neighbouring runs; above 1 ours is better, whichever way is up
 * @param spread of the ratio: lowest and highest over the runs
 * @param runs measurements a side, each in a JVM of its own
 * @param oursRuns ours in the order measured
 * @param peerRuns the peer's likewise
 * @param target what is aimed at, in words, or null
 * @param met whether it is met, or null without a target
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record Comparison(
    String metric,
    String unit,
    double ours,
    double peer,
    @JsonProperty("peer_name") String peerName,
    double ratio,
    List<Double> spread,
    int runs,
    @JsonProperty("ours_runs") List<Double> oursRuns,
    @JsonProperty("peer_runs") List<Double> peerRuns,
    String target,
    Boolean met) {

  /** Compares; run i of one side was measured next to run i of the other. Lists must be equally long, not empty. */
  public static Comparison of(
      Metric metric, String peerName, List<Double> ours, List<Double> peer, String reference) {
    if (ours.size() != peer.size() || ours.isEmpty()) {
      throw new IllegalArgumentException(
          metric.name()
              + ": "
              + ours.size()
              + " runs of ours against "
              + peer.size()
              + " of "
              + peerName);
    }
    double[] ratios =
        IntStream.range(0, ours.size())
            .mapToDouble(i -> metric.ratio(ours.get(i), peer.get(i)))
            .sorted()
            .toArray();
    double ratio = median(ratios);
    double value = median(ours);
    String target = null;
    Boolean met = null;
    if (!Double.isNaN(metric.valueWanted())) {
      target =
          (metric.higherIsBetter() ? "≥ " : "≤ ")
              + Numbers.text(metric.valueWanted())
              + " "
              + metric.unit();
      met = metric.ratio(value, metric.valueWanted()) >= 1;
    } else if (!Double.isNaN(metric.ratioWanted()) && peerName.equals(reference)) {
      target = "≥ " + Numbers.text(metric.ratioWanted()) + "×";
      met = ratio >= metric.ratioWanted();
    }
    return new Comparison(
        metric.name(),
        metric.unit(),
        value,
        median(peer),
        peerName,
        ratio,
        List.of(ratios[0], ratios[ratios.length - 1]),
        ours.size(),
        List.copyOf(ours),
        List.copyOf(peer),
        target,
        met);
  }

  /** The middle value, or the mean of the middle two. */
  public static double median(List<Double> values) {
    return median(values.stream().mapToDouble(Double::doubleValue).toArray());
  }

  private static double median(double[] values) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    int middle = sorted.length / 2;
    return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  }
}
