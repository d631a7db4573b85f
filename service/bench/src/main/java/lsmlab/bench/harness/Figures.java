package lsmlab.bench.harness;

import com.fasterxml.jackson.annotation.JsonValue;
import java.io.IOException;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.DoubleBinaryOperator;

/**
 * Measures contestants in turn and keeps every figure.
 *
 * <p>A round measures each contestant once, in a new process. Each round reverses the order (A B, B A, A B …), so that a
 * machine that slows down favours no contestant. Value i of every contestant comes from round i, so ratios and differences
 * are taken within a round, before the median.
 */
public final class Figures {

  /** Measures one contestant once and returns its values by metric. */
  @FunctionalInterface
  public interface Turn {
    Map<String, Double> measure(String contestant) throws IOException, InterruptedException;
  }

  private final PrintStream progress;
  private final Map<String, Map<String, List<Double>>> runs = new LinkedHashMap<>();

  public Figures(PrintStream progress) {
    this.progress = progress;
  }

  /**
   * Runs the rounds. Each progress line begins with {@code what}.
   *
   * @throws IOException if one measurement fails; nothing of {@code what} is kept then, because ratios need whole rounds
   */
  public void measure(String what, List<String> contestants, int rounds, Turn turn)
      throws IOException, InterruptedException {
    Figures whole = new Figures(progress);
    for (int round = 0; round < rounds; round++) {
      for (String contestant : round % 2 == 0 ? contestants : contestants.reversed()) {
        progress.printf("%s %d/%d %s: ", what, round + 1, rounds, contestant);
        progress.flush();
        Map<String, Double> values = turn.measure(contestant);
        List<String> words = new ArrayList<>();
        values.forEach((metric, value) -> words.add(metric + " " + Numbers.text(value)));
        progress.println(String.join(", ", words));
        values.forEach((metric, value) -> whole.add(contestant, metric, value));
      }
    }
    whole.runs.forEach(
        (contestant, metrics) ->
            metrics.forEach(
                (metric, values) -> values.forEach(value -> add(contestant, metric, value))));
  }

  /** Adds the value of one run. */
  public void add(String contestant, String metric, double value) {
    runs.computeIfAbsent(contestant, unused -> new LinkedHashMap<>())
        .computeIfAbsent(metric, unused -> new ArrayList<>())
        .add(value);
  }

  /** The contestants, in the order in which they were first measured. */
  public List<String> contestants() {
    return List.copyOf(runs.keySet());
  }

  /** Returns a contestant's values, one for each round; empty if this metric was not measured. */
  public List<Double> runs(String contestant, String metric) {
    return runs.getOrDefault(contestant, Map.of()).getOrDefault(metric, List.of());
  }

  public boolean has(String contestant, String metric) {
    return !runs(contestant, metric).isEmpty();
  }

  public Summary summary(String contestant, String metric) {
    return Summary.of(runs(contestant, metric));
  }

  /** Combines the values of two contestants in each round, as in {@code (ours, theirs) -> ours / theirs}. */
  public Summary paired(String ours, String theirs, String metric, DoubleBinaryOperator how) {
    return Summary.ofPairs(runs(ours, metric), runs(theirs, metric), how);
  }

  /** All values, by contestant and metric, for JSON. */
  @JsonValue
  public Map<String, Map<String, List<Double>>> all() {
    return runs;
  }
}
