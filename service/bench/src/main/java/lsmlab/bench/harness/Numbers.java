package lsmlab.bench.harness;

import java.util.Locale;

/** Formats numbers for tables and progress lines. */
public final class Numbers {

  private Numbers() {}

  /** Rounds to a whole number from 100 on, below that to about three significant digits. Commas separate thousands. */
  public static String text(double value) {
    double size = Math.abs(value);
    if (size >= 100 || value == Math.rint(value)) {
      return String.format(Locale.ROOT, "%,.0f", value);
    }
    return String.format(Locale.ROOT, size >= 10 ? "%.1f" : size >= 0.1 ? "%.2f" : "%.3f", value);
  }
}
