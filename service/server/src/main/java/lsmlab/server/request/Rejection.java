package lsmlab.server.request;

import java.util.Locale;

/** Why a request or a connection was refused: the label {@code reason} of {@code lsmlab_rejected_total}. */
public enum Rejection {
  /** The queue is full. */
  QUEUE_FULL,
  /** The engine holds writes back because flushes or compactions do not keep up. */
  WRITES_HELD_BACK,
  /** The request had waited longest when another one found the queue full. */
  DROPPED,
  /** The maximum number of connections is open. */
  CONNECTIONS,
  /** The request had waited for longer than its deadline. */
  DEADLINE,
  /** The memory budget for arriving requests is used up. */
  REQUEST_MEMORY,
  /** The memory budget for responses that wait for slow readers is used up. */
  REPLY_MEMORY,
  /** The store takes no more writes. */
  READ_ONLY,
  /** The engine ended a range's scan before any byte was sent, because the scan kept too much replaced data alive. */
  SCAN_ENDED;

  private final String label = name().toLowerCase(Locale.ROOT);

  public String label() {
    return label;
  }
}
