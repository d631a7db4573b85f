package lsmlab.bench.harness;

import java.util.List;
import java.util.function.DoubleBinaryOperator;
import java.util.stream.IntStream;

/** Median, lowest and highest value of one figure over several runs. */
public record Summary(double median, double lowest, double highest, int runs) {

  /**
   * Summarises values.
   *
   * @throws IllegalArgumentException if {@code values} is empty
   */
  public static Summary of(List<Double> values) {
    if (values.isEmpty()) {
      throw new IllegalArgumentException("no runs to summarise");
    }
    double[] sorted = values.stream().mapToDouble(Double::doubleValue).sorted().toArray();
    int middle = sorted.length / 2;
    double median =
        sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    return new Summary(median, sorted[0], sorted[sorted.length - 1], sorted.length);
  }

  /**
   * Combines run i of one side with run i of the other, which were measured in the same round, and summarises the results.
   *
   * @throws IllegalArgumentException if one side has more runs than the other, or there are none
   */
  public static Summary ofPairs(List<Double> ours, List<Double> theirs, DoubleBinaryOperator how) {
    if (ours.size() != theirs.size()) {
      throw new IllegalArgumentException(ours.size() + " runs against " + theirs.size());
    }
    return of(
        IntStream.range(0, ours.size())
            .mapToObj(i -> how.applyAsDouble(ours.get(i), theirs.get(i)))
            .toList());
  }

  /** Returns {@code median (lowest … highest)}. */
  public String text() {
    return "%s (%s … %s)"
        .formatted(Numbers.text(median), Numbers.text(lowest), Numbers.text(highest));
  }
}
