package lsmlab.bench;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import lsmlab.bench.report.Comparison;
import lsmlab.bench.report.Metric;
import lsmlab.bench.report.Stall;
import lsmlab.bench.workload.Outcome;
import lsmlab.bench.workload.Stores;

/**
 * Runs workloads on engines in turn and keeps every figure. The order turns round with each repetition (A B, B A, A B …),
 * so that a machine that grows slower or faster meanwhile favours nobody.
 */
final class Paired {

  /** Runs one workload on one engine; a fork, except in a test. */
  @FunctionalInterface
  interface Runner {
    Outcome run(String workload, String engine) throws IOException, InterruptedException;
  }

  private static final String LOADED = ".loaded";

  private final Settings settings;
  private final Runner runner;
  private final PrintStream progress;
  private final Map<String, Map<String, List<Double>>> figures;
  private final Map<String, List<List<Stall>>> stalls = new LinkedHashMap<>();

  Paired(Settings settings, Runner runner, PrintStream progress) {
    this(settings, runner, progress, new LinkedHashMap<>());
  }

  private Paired(
      Settings settings,
      Runner runner,
      PrintStream progress,
      Map<String, Map<String, List<Double>>> figures) {
    this.settings = settings;
    this.runner = runner;
    this.progress = progress;
    this.figures = figures;
  }

  /** Measures under other settings into the same figures. */
  Paired with(Settings other, Runner otherRunner) {
    return new Paired(other, otherRunner, progress, figures);
  }

  /** Makes the loaded store of each engine where it is not there yet. */
  void load(List<String> engines) throws IOException, InterruptedException {
    Files.createDirectories(settings.stores());
    for (String engine : engines) {
      Path base = settings.base(engine);
      Path loaded = settings.stores().resolve(base.getFileName() + LOADED);
      if (Files.exists(loaded)) {
        continue;
      }
      progress.printf("load %s: %,d pairs%n", engine, settings.pairs());
      Stores.delete(base);
      runner.run("load", engine);
      Files.createFile(loaded);
    }
  }

  /** Removes the loaded stores that an engine with another format could misread. */
  void forget(List<String> engines) throws IOException {
    for (String engine : engines) {
      Path base = settings.base(engine);
      Files.deleteIfExists(settings.stores().resolve(base.getFileName() + LOADED));
      Stores.delete(base);
    }
  }

  /** Runs the workload {@code repetitions} times on each engine. */
  void measure(String workload, List<String> engines, int repetitions)
      throws IOException, InterruptedException {
    for (int repetition = 0; repetition < repetitions; repetition++) {
      for (String engine : repetition % 2 == 0 ? engines : engines.reversed()) {
        progress.printf("%s %s %d/%d: ", workload, engine, repetition + 1, repetitions);
        progress.flush();
        Path scratch = settings.scratch(engine);
        Stores.delete(scratch);
        if (workload.equals("replay")) {
          runner.run("fill-log", engine);
        }
        Outcome outcome = runner.run(workload, engine);
        Map<String, Double> measured = outcome.figures();
        if (!outcome.stalls().isEmpty()) {
          stalls.computeIfAbsent(engine, unused -> new ArrayList<>()).add(outcome.stalls());
        }
        Stores.delete(scratch);
        measured.forEach(
            (metric, value) ->
                figures
                    .computeIfAbsent(metric, unused -> new LinkedHashMap<>())
                    .computeIfAbsent(engine, unused -> new ArrayList<>())
                    .add(value));
        progress.println(text(measured));
      }
    }
  }

  private static String text(Map<String, Double> measured) {
    List<String> parts = new ArrayList<>();
    measured.forEach((metric, value) -> parts.add(String.format("%s %,.4g", metric, value)));
    return String.join(", ", parts);
  }

  /** The longest stalls of each engine, run by run. */
  Map<String, List<List<Stall>>> stalls() {
    return stalls;
  }

  /** Everything measured of ours against each other engine, in the order of {@link Metric#ALL}. */
  List<Comparison> comparisons(String ours, String reference) {
    List<Comparison> comparisons = new ArrayList<>();
    for (Metric metric : Metric.ALL) {
      Map<String, List<Double>> byEngine = figures.getOrDefault(metric.name(), Map.of());
      if (byEngine.containsKey(ours)) {
        byEngine.forEach(
            (engine, values) -> {
              if (!engine.equals(ours)) {
                comparisons.add(
                    Comparison.of(metric, engine, byEngine.get(ours), values, reference));
              }
            });
      }
    }
    return comparisons;
  }
}
