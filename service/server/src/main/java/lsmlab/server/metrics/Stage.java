package lsmlab.server.metrics;

import java.util.Locale;

/** The stages of a request; the label {@code stage} of {@code lsmlab_request_seconds}. */
public enum Stage {
  /** From the selector's wake-up to the request's submission: reading, parsing, waiting for other connections. */
  SELECTOR_WAIT,
  /** From the submission until a thread starts to run the request. */
  QUEUE_WAIT,
  /** In the storage engine, including the copy of the value into the response; for a batch, until it is written. */
  STORAGE,
  /** Writing the response to the socket, as far as the kernel accepts it immediately; for a range, its first buffer. */
  REPLY,
  /** All stages: from the selector's wake-up to the written response. */
  TOTAL;

  private final String label = name().toLowerCase(Locale.ROOT);

  public String label() {
    return label;
  }
}
