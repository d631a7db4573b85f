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

  OverloadPolicy(VariantSettings settings) {
    policy = settings.policy();
    deadlineNanos = settings.deadlineNanos();
  }

  /**
   * Handles a request that finds the queue full.
   *
   * <p>The caller, a selector's thread, holds the lock of the request's connection, and rejecting the oldest request
   * takes the lock of another connection. No two threads can wait for each other: a request that a thread can find in
   * the queue was put there after its own submitter had removed its victim, so chains of such threads have no cycle. A
   * change must keep this order: remove the victim, offer the request, reject the victim.
   *
   * @param oldest removes the request that has waited longest from the queue and returns it, or null if none waits
   * @param offer adds a request to the queue; returns false if it is full
   */
  void full(Request request, Supplier<Request> oldest, Predicate<Request> offer) {
    if (policy != QueuePolicy.DROP_OLDEST) {
      request.reject(Rejection.QUEUE_FULL);
      return;
    }
    Request victim = oldest.get();
    boolean accepted = offer.test(request);
    if (victim != null) {
      victim.reject(Rejection.DROPPED);
    }
    if (!accepted) { // another thread was faster
      request.reject(Rejection.QUEUE_FULL);
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
