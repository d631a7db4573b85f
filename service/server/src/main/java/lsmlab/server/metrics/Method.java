package lsmlab.server.metrics;

import java.util.Locale;

/** The kind of request; the label {@code method} of the request metrics. */
public enum Method {
  GET,
  PUT,
  DELETE,
  RANGE,
  /** A method that is unknown or not supported. */
  OTHER;

  private final String label = name().toLowerCase(Locale.ROOT);

  public String label() {
    return label;
  }
}
