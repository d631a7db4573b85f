package lsmlab.server.metrics;

import java.util.Locale;

/** The stages of a request; the label {@code stage} of {@code lsmlab_request_seconds}. */
public enum Stage {
  /** From the selector's wake-up to the parsed request's submission: reading, parsing, the wait behind other connections. */
  SELECTOR_WAIT,
  /** From the submission to the start on the thread that runs it. */
  QUEUE_WAIT,
  /** In the storage engine, with the copy of the value into the response; for a batch, until all of it is written. */
  STORAGE,
  /** Writing the response to the socket, as far as the kernel takes it at once; of a range, its first buffer. */
  REPLY,
  /** All stages: from the selector's wake-up to the written response. */
  TOTAL;

  private final String label = name().toLowerCase(Locale.ROOT);

  public String label() {
    return label;
  }
}
