package lsmlab.server.metrics;

/**
 * Writes metrics in Prometheus' text exposition format, version 0.0.4. Used for scrape after scrape, so that a scrape
 * allocates little more than its text: what the service allocates shall be its own work's. Not thread-safe.
 */
final class PrometheusText {

  private final StringBuilder text = new StringBuilder(64 * 1024);

  /** Begins a page. */
  PrometheusText clear() {
    text.setLength(0);
    return this;
  }

  /** Begins a metric: its samples follow. */
  PrometheusText metric(String name, String type, String help) {
    text.append("# HELP ").append(name).append(' ').append(help).append('\n');
    text.append("# TYPE ").append(name).append(' ').append(type).append('\n');
    return this;
  }

  /** A whole number with pairs of label name and value. */
  PrometheusText sample(String name, long value, String... labels) {
    labelled(name, labels);
    text.append(value).append('\n');
    return this;
  }

  /** A whole number whose name and labels are written already, up to the space before the number. */
  PrometheusText prepared(String nameAndLabels, long value) {
    text.append(nameAndLabels).append(value).append('\n');
    return this;
  }

  /** A number of seconds given in nanoseconds. */
  PrometheusText seconds(String name, long nanos, String... labels) {
    labelled(name, labels);
    appendSeconds(text, nanos);
    text.append('\n');
    return this;
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
    StringBuilder out = new StringBuilder();
    appendSeconds(out, nanos);
    return out.toString();
  }

  private static void appendSeconds(StringBuilder out, long nanos) {
    out.append(nanos / 1_000_000_000);
    long fraction = nanos % 1_000_000_000;
    if (fraction == 0) {
      return;
    }
    out.append('.');
    for (long digit = 100_000_000; fraction > 0; digit /= 10) {
      out.append((char) ('0' + fraction / digit));
      fraction %= digit;
    }
  }

  private void labelled(String name, String... labels) {
    text.append(name);
    for (int i = 0; i < labels.length; i += 2) {
      text.append(i == 0 ? '{' : ',').append(labels[i]).append("=\"");
      appendEscaped(labels[i + 1]);
      text.append('"');
    }
    text.append(labels.length > 0 ? "} " : " ");
  }

  private void appendEscaped(String value) {
    for (int i = 0; i < value.length(); i++) {
      char c = value.charAt(i);
      switch (c) {
        case '\\' -> text.append("\\\\");
        case '"' -> text.append("\\\"");
        case '\n' -> text.append("\\n");
        default -> text.append(c);
      }
    }
  }

  @Override
  public String toString() {
    return text.toString();
  }
}
