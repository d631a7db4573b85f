package lsmlab.server.variant;

import java.util.Locale;

/** Why a request or a connection was turned away; the label {@code reason} of {@code lsmlab_rejected_total}. */
public enum Rejection {
  /** As many requests wait as the queue may hold. */
  QUEUE_FULL,
  /** The engine holds writes back because flushes do not keep up. */
  WRITES_HELD_BACK,
  /** It had waited longest when another one found the queue full. */
  DROPPED,
  /** As many connections are open as are allowed. */
  CONNECTIONS,
  /** It waited for longer than its deadline. */
  DEADLINE,
  /** Large requests that arrive hold as much memory as they may. */
  REQUEST_MEMORY,
  /** Readers that are too slow hold as much memory as replies may. */
  REPLY_MEMORY,
  /** The store takes no more writes. */
  READ_ONLY,
  /** The engine has ended the scan of a range that kept too much of an earlier moment, before anything was sent. */
  SCAN_ENDED;

  private final String label = name().toLowerCase(Locale.ROOT);

  public String label() {
    return label;
  }
}
