package lsmlab.server.variant;

import java.util.function.Predicate;
import java.util.function.Supplier;
import lsmlab.server.request.Rejection;
import lsmlab.server.request.Request;
import lsmlab.server.variant.queue.QueuePolicy;

/** Applies the {@link QueuePolicy} to requests that find the queue full or have waited too long. Thread-safe. */
final class OverloadPolicy {

  private final QueuePolicy policy;
  private final long deadlineNanos;

  /**
   * Whether this thread is dropping another connection's request. The response may make that connection submit its next
   * pipelined request on the same stack. This request is then rejected, so that the stack does not grow.
   */
  private final ThreadLocal<Boolean> dropping = ThreadLocal.withInitial(() -> false);

  OverloadPolicy(VariantSettings settings) {
    policy = settings.policy();
    deadlineNanos = settings.deadlineNanos();
  }

  /**
   * Handles a request that finds the queue full.
   *
   * @param oldest removes the request that has waited longest from the queue and returns it, or null if none waits
   * @param offer adds a request to the queue; returns false if it is full
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

  /** Runs a request taken from the queue, or rejects it if it is late. */
  void run(Request request) {
    if (!rejectsLate(request)) {
      request.run();
    }
  }

  /** Rejects a request taken from the queue if it is late. Returns whether it was rejected. */
  boolean rejectsLate(Request request) {
    boolean late =
        policy == QueuePolicy.DROP_LATE
            && System.nanoTime() - request.arrivedNanos() > deadlineNanos;
    if (late) {
      request.reject(Rejection.DEADLINE);
    }
    return late;
  }
}
