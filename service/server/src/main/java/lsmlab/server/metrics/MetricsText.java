package lsmlab.server.metrics;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.DoubleSupplier;
import java.util.function.ObjDoubleConsumer;

/**
 * Prometheus' text format, version 0.0.4. All text except the numbers is composed once, when a family is added; the
 * values are read for each page. Not thread-safe.
 *
 * <p>The Prometheus client library is not used. It runs so much code for a page that the JIT compiles it during the
 * first minute of scrapes, and on one CPU the pages and the compilation both delay requests. A page takes 20 ms of CPU
 * time at first and 4 ms later ({@code make bench-monitoring} measures what a page costs).
 */
final class MetricsText {

  private final List<Consumer<StringBuilder>> families = new ArrayList<>();

  /** Appends all families, in the order in which they were added. */
  void appendTo(StringBuilder page) {
    for (Consumer<StringBuilder> family : families) {
      family.accept(page);
    }
  }

  /** Adds families that append their own headers and samples. */
  void add(Consumer<StringBuilder> several) {
    families.add(several);
  }

  /** Adds a gauge with one series. A page leaves it out if its value is NaN. */
  void gauge(String name, String help, DoubleSupplier value) {
    single(name, "gauge", help, value);
  }

  /** Adds a counter with one series; its name ends in {@code _total}. */
  void counter(String name, String help, DoubleSupplier value) {
    single(name, "counter", help, value);
  }

  /** Adds a gauge with one label. */
  void gauge(String name, String help, String label, Consumer<ObjDoubleConsumer<String>> values) {
    labelled(name, "gauge", help, label, values);
  }

  /** Adds a counter with one label; its name ends in {@code _total}. */
  void counter(String name, String help, String label, Consumer<ObjDoubleConsumer<String>> values) {
    labelled(name, "counter", help, label, values);
  }

  private void single(String name, String type, String help, DoubleSupplier value) {
    String header = header(name, type, help);
    String start = series(name);
    add(
        page -> {
          double now = value.getAsDouble();
          if (!Double.isNaN(now)) {
            sample(page.append(header), start, now);
          }
        });
  }

  private void labelled(
      String name,
      String type,
      String help,
      String label,
      Consumer<ObjDoubleConsumer<String>> values) {
    String header = header(name, type, help);
    add(
        page -> {
          page.append(header);
          values.accept((is, now) -> sample(page, series(name, label, is), now));
        });
  }

  /** Returns the two lines with which a family begins. */
  static String header(String name, String type, String help) {
    return "# HELP " + name + " " + help + "\n# TYPE " + name + " " + type + "\n";
  }

  /**
   * Returns a sample's line up to its number.
   *
   * @param labels names and values, alternating
   */
  static String series(String name, String... labels) {
    if (labels.length == 0) {
      return name + " ";
    }
    StringBuilder text = new StringBuilder(name);
    for (int i = 0; i < labels.length; i += 2) {
      text.append(i == 0 ? '{' : ',').append(labels[i]).append("=\"");
      text.append(escaped(labels[i + 1])).append('"');
    }
    return text.append("} ").toString();
  }

  private static String escaped(String value) {
    return value.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n");
  }

  /** Appends a sample's line; {@code start} is from {@link #series}. */
  static void sample(StringBuilder page, String start, double value) {
    long whole = (long) value;
    page.append(start);
    if (whole == value) {
      page.append(whole); // shorter than a double and several times cheaper to format
    } else {
      page.append(value);
    }
    page.append('\n');
  }
}
