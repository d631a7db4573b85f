package lsmlab.server.variant;

/**
 * What a configuration says to a variant; each takes what it has a use for.
 *
 * @param workers worker threads, 1 or more
 * @param queueCapacity requests that may wait, 1 or more
 * @param deadlineNanos how long a request may wait where late ones are dropped
 * @param policy what happens when the queue is full
 */
public record VariantSettings(
    int workers, int queueCapacity, long deadlineNanos, QueuePolicy policy) {

  /** Settings with {@link QueuePolicy#REJECT_NEWEST}. */
  public VariantSettings(int workers, int queueCapacity, long deadlineNanos) {
    this(workers, queueCapacity, deadlineNanos, QueuePolicy.REJECT_NEWEST);
  }
}
