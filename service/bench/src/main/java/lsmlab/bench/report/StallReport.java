package lsmlab.bench.report;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.function.ToDoubleFunction;

/** The longest stalls of each engine in words. */
public final class StallReport {

  private static final int TOLD = 10;

  private StallReport() {}

  /**
   * A line an engine: its longest stall and what that and the longest together consist of. Empty without stalls.
   *
   * @param byEngine of each run the longest stalls, longest first
   */
  public static String of(Map<String, List<List<Stall>>> byEngine) {
    StringBuilder text = new StringBuilder();
    byEngine.forEach(
        (engine, runs) -> {
          List<Stall> all =
              runs.stream()
                  .flatMap(List::stream)
                  .sorted((a, b) -> Double.compare(b.millis(), a.millis()))
                  .limit(TOLD)
                  .toList();
          if (!all.isEmpty()) {
            text.append(line(engine, all));
          }
        });
    return text.toString();
  }

  private static String line(String engine, List<Stall> all) {
    Stall longest = all.getFirst();
    return String.format(
        Locale.ROOT,
        "\nLongest stalls of `%s`: %.1f ms at %.0f s%s; the %d longest together %.1f ms%s.\n",
        engine,
        longest.millis(),
        longest.atSeconds(),
        split(List.of(longest)),
        all.size(),
        all.stream().mapToDouble(Stall::millis).sum(),
        split(all));
  }

  private static String split(List<Stall> stalls) {
    List<Stall.Split> splits = stalls.stream().map(Stall::split).filter(Objects::nonNull).toList();
    if (splits.size() < stalls.size()) {
      return " (what of cannot be told here)";
    }
    return String.format(
        Locale.ROOT,
        " (on the CPU %.1f, waiting for it %.1f, asleep %.1f, taken by the host %.1f%s)",
        sum(splits, Stall.Split::onCpu),
        sum(splits, Stall.Split::waiting),
        sum(splits, Stall.Split::asleep),
        sum(splits, Stall.Split::stolen),
        stopped(stalls));
  }

  /** Of all parts, as the kernel charges to any of them the time in which no CPU could be had. */
  private static String stopped(List<Stall> stalls) {
    if (stalls.stream().anyMatch(stall -> stall.stoppedMillis() == null)) {
      return "";
    }
    return String.format(
        Locale.ROOT,
        "; of all that no CPU could be had for %.1f",
        stalls.stream().mapToDouble(Stall::stoppedMillis).sum());
  }

  private static double sum(List<Stall.Split> splits, ToDoubleFunction<Stall.Split> part) {
    return splits.stream().mapToDouble(part).sum();
  }
}
