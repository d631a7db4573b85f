package lsmlab.server.metrics;

import java.util.Locale;

/** What was asked; the label {@code method} of the request metrics. */
public enum Method {
  GET,
  PUT,
  DELETE,
  RANGE,
  /** What could not be told, or is not served. */
  OTHER;

  private final String label = name().toLowerCase(Locale.ROOT);

  public String label() {
    return label;
  }
}
