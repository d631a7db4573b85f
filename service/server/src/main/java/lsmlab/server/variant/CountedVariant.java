package lsmlab.server.variant;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import lsmlab.server.request.Rejection;
import lsmlab.server.request.Request;
import lsmlab.server.variant.queue.WaitingCount;

/**
 * A variant that runs requests on a library's scheduler. It bounds the number of waiting requests, because such a
 * scheduler has no bound or hides it. It also counts unfinished requests, so that {@link #close} can wait for them.
 */
abstract class CountedVariant implements Variant {

  private static final long LOOK_NANOS = 1_000_000;

  private final WaitingCount waiting;
  private final AtomicInteger unfinished = new AtomicInteger();
  private final OverloadPolicy overload;
  private final long closeNanosMax;

  CountedVariant(VariantSettings settings) {
    this(settings, settings.queueCapacity());
  }

  CountedVariant(VariantSettings settings, int capacity) {
    waiting = new WaitingCount(capacity);
    overload = new OverloadPolicy(settings);
    closeNanosMax = settings.closeNanosMax();
  }

  /**
   * Passes the request to the scheduler, which calls {@link #run} with it. Returns false if the scheduler refuses it.
   */
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
      int left = unfinished.decrementAndGet();
      assert left >= 0 : "more requests finished than scheduled";
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

  /** Waits until every request is finished, but no longer than the settings allow. */
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
