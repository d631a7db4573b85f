package lsmlab.server.variant.queue;

/** The action of a variant whose queue is full: the value of {@code queue_policy} in a configuration. */
public enum QueuePolicy {
  /** The new request gets 503; waiting requests keep their places. */
  REJECT_NEWEST,
  /**
   * The request that has waited longest gets 503 to make room for the new one: its client is the most likely to
   * have given up.
   */
  DROP_OLDEST,
  /**
   * The new request gets 503; so does a request that has waited longer than {@code deadline_ms} when it is taken
   * from the queue. No work is done for a client that has given up.
   */
  DROP_LATE
}
