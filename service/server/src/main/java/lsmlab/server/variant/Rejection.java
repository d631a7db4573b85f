package lsmlab.server.variant;

import java.util.Locale;

/** Why a request or a connection was refused; the label {@code reason} of {@code lsmlab_rejected_total}. */
public enum Rejection {
  /** The queue is full. */
  QUEUE_FULL,
  /** The engine holds writes back because flushes do not keep up. */
  WRITES_HELD_BACK,
  /** It had waited longest when another request found the queue full. */
  DROPPED,
  /** The limit of open connections is reached. */
  CONNECTIONS,
  /** It waited for longer than its deadline. */
  DEADLINE,
  /** The memory budget of large requests that arrive is used up. */
  REQUEST_MEMORY,
  /** The memory budget of responses that wait for slow readers is used up. */
  REPLY_MEMORY,
  /** The store takes no more writes. */
  READ_ONLY,
  /** The engine has ended a range's scan, which kept too much old data, before any byte was sent. */
  SCAN_ENDED;

  private final String label = name().toLowerCase(Locale.ROOT);

  public String label() {
    return label;
  }
}
