package lsmlab.server.variant;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * A variant on a scheduler of a library. It bounds the requests that wait, because such a scheduler has no bound of its
 * own or hides it, and counts those that are unfinished, so that {@link #close} can wait for them.
 */
abstract class CountedVariant implements Variant {

  private static final long LOOK_NANOS = 1_000_000;

  private final WaitingCount waiting;
  private final AtomicInteger unfinished = new AtomicInteger();
  private final OverloadPolicy overload;
  private final long closeNanosMax;

  CountedVariant(VariantSettings settings) {
    waiting = new WaitingCount(settings.queueCapacity());
    overload = new OverloadPolicy(settings);
    closeNanosMax = settings.closeNanosMax();
  }

  /** Hands the request to the scheduler, which calls {@link #run} with it; false if the scheduler refuses it. */
  abstract boolean schedule(Request request);

  @Override
  public final void submit(Request request) {
    if (!waiting.enter()) {
      request.reject(Rejection.QUEUE_FULL);
      return;
    }
    unfinished.incrementAndGet();
    if (!schedule(request)) {
      waiting.leave();
      unfinished.decrementAndGet();
      request.reject(Rejection.QUEUE_FULL);
    }
  }

  /** Completes a scheduled request, on the scheduler's thread. */
  final void run(Request request) {
    waiting.leave();
    try {
      overload.run(request);
    } finally {
      unfinished.decrementAndGet();
    }
  }

  @Override
  public int queueDepth() {
    return waiting.get();
  }

  @Override
  public int queueCapacity() {
    return waiting.capacity();
  }

  /** Waits until every request is finished, at most as long as the settings allow. */
  @Override
  public void close() {
    long deadline = System.nanoTime() + closeNanosMax;
    while (unfinished.get() > 0 && System.nanoTime() - deadline < 0) {
      LockSupport.parkNanos(LOOK_NANOS);
    }
    if (unfinished.get() > 0) {
      Workers.logStuck(unfinished + " requests", closeNanosMax);
    }
  }
}
