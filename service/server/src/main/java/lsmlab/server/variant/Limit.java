package lsmlab.server.variant;

import java.util.function.Predicate;
import java.util.function.Supplier;

/** Does at a queue's limit what the {@link QueuePolicy} says. Thread-safe. */
final class Limit {

  /** Rejects nothing but what finds no room. */
  static final Limit REJECT_NEWEST = new Limit(QueuePolicy.REJECT_NEWEST, 0);

  private final QueuePolicy policy;
  private final long deadlineNanos;

  /**
   * Whether this thread is dropping somebody's request. Its reply may let the connection's next pipelined request come
   * here, on this same stack: that one is rejected, so that the stack stays as it is.
   */
  private final ThreadLocal<Boolean> dropping = ThreadLocal.withInitial(() -> false);

  Limit(VariantSettings settings) {
    this(settings.policy(), settings.deadlineNanos());
  }

  private Limit(QueuePolicy policy, long deadlineNanos) {
    this.policy = policy;
    this.deadlineNanos = deadlineNanos;
  }

  /**
   * A request has found no room.
   *
   * @param oldest takes the request that has waited longest out of the queue; null where there is none
   * @param offer puts a request into the queue; false where it is full
   */
  void full(Request request, Supplier<Request> oldest, Predicate<Request> offer) {
    if (policy != QueuePolicy.DROP_OLDEST || dropping.get()) {
      request.reject(Rejection.QUEUE_FULL);
      return;
    }
    Request victim = oldest.get();
    boolean accepted = offer.test(request);
    dropping.set(true);
    try {
      if (victim != null) {
        victim.reject(Rejection.DROPPED);
      }
      if (!accepted) { // another thread was faster
        request.reject(Rejection.QUEUE_FULL);
      }
    } finally {
      dropping.set(false);
    }
  }

  /** Runs a request whose turn has come, or rejects it for being late. */
  void run(Request request) {
    if (policy == QueuePolicy.DROP_LATE
        && System.nanoTime() - request.arrivedNanos() > deadlineNanos) {
      request.reject(Rejection.DEADLINE);
    } else {
      request.run();
    }
  }
}
