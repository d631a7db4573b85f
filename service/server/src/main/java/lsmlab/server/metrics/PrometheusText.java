package lsmlab.server.metrics;

import java.util.Locale;

/** Writes metrics in Prometheus' text exposition format, version 0.0.4. Not thread-safe. */
final class PrometheusText {

  private final StringBuilder text = new StringBuilder(32 * 1024);

  /** Begins a metric: its samples follow. */
  PrometheusText metric(String name, String type, String help) {
    text.append("# HELP ").append(name).append(' ').append(help).append('\n');
    text.append("# TYPE ").append(name).append(' ').append(type).append('\n');
    return this;
  }

  /** A whole number with pairs of label name and value. */
  PrometheusText sample(String name, long value, String... labels) {
    return line(name, Long.toString(value), labels);
  }

  /** A number of seconds given in nanoseconds. */
  PrometheusText seconds(String name, long nanos, String... labels) {
    return line(name, seconds(nanos), labels);
  }

  /** A gauge of one sample without labels. */
  PrometheusText gauge(String name, String help, long value) {
    return metric(name, "gauge", help).sample(name, value);
  }

  /** A counter of one sample without labels. */
  PrometheusText counter(String name, String help, long value) {
    return metric(name, "counter", help).sample(name, value);
  }

  /** A counter of seconds of one sample without labels. */
  PrometheusText secondsCounter(String name, String help, long nanos) {
    return metric(name, "counter", help).seconds(name, nanos);
  }

  /** Exact seconds, without exponent or trailing zeros. */
  static String seconds(long nanos) {
    if (nanos % 1_000_000_000 == 0) {
      return Long.toString(nanos / 1_000_000_000);
    }
    String padded =
        String.format(Locale.ROOT, "%d.%09d", nanos / 1_000_000_000, nanos % 1_000_000_000);
    int end = padded.length();
    while (padded.charAt(end - 1) == '0') {
      end--;
    }
    return padded.substring(0, end);
  }

  private PrometheusText line(String name, String value, String... labels) {
    text.append(name);
    for (int i = 0; i < labels.length; i += 2) {
      text.append(i == 0 ? '{' : ',').append(labels[i]).append("=\"");
      text.append(escaped(labels[i + 1])).append('"');
    }
    if (labels.length > 0) {
      text.append('}');
    }
    text.append(' ').append(value).append('\n');
    return this;
  }

  private static String escaped(String value) {
    return value.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n");
  }

  @Override
  public String toString() {
    return text.toString();
  }
}
