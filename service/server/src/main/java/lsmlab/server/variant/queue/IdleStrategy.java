package lsmlab.server.variant.queue;

/** The way in which a worker waits while its queue is empty: {@code idle} in a configuration. */
public enum IdleStrategy {
  /** Sleeps until a submit wakes it. Uses no CPU while idle, but each wake-up costs both sides a system call. */
  PARK,
  /** Yields its CPU to other threads and checks again. Needs no wake-up, but keeps a CPU busy. */
  YIELD,
  /** Checks again at once. The fastest hand-off if every worker has its own CPU, the slowest if not. */
  SPIN
}
