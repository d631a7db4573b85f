package lsmlab.bench.harness;

import java.util.Locale;

/** Numbers as a reader wants them. */
public final class Numbers {

  private Numbers() {}

  /** Whole from 100 on, else three significant digits or so; thousands separated by commas. */
  public static String text(double value) {
    double size = Math.abs(value);
    if (size >= 100 || value == Math.rint(value)) {
      return String.format(Locale.ROOT, "%,.0f", value);
    }
    return String.format(Locale.ROOT, size >= 10 ? "%.1f" : size >= 0.1 ? "%.2f" : "%.3f", value);
  }
}
