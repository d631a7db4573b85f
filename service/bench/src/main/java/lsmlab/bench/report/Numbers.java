package lsmlab.bench.report;

import java.util.Locale;

/** Numbers as a reader wants them. */
final class Numbers {

  private Numbers() {}

  /** Three significant digits or the whole number, whichever is more, thousands parted. */
  static String text(double value) {
    double size = Math.abs(value);
    if (size >= 100 || value == Math.rint(value)) {
      return String.format(Locale.ROOT, "%,.0f", value);
    }
    return String.format(Locale.ROOT, size >= 10 ? "%.1f" : size >= 0.1 ? "%.2f" : "%.3f", value);
  }
}
