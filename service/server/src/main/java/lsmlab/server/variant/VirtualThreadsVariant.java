package lsmlab.server.variant;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * A virtual thread for each request.
 *
 * <p><b>How a request travels.</b> Socket → selector thread → the scheduler's queue → a carrier thread on which the
 * request's virtual thread is mounted → storage → socket.
 *
 * <p><b>What it costs.</b> A thread object and a stack chunk for each request, and the scheduler's hand-off. As many run
 * at once as there are CPUs, whatever {@code workers} says; one that waits for a lock leaves its carrier to others, but
 * one that reads a file or faults in a mapped page keeps it. What waits to start is bounded by {@code queue_capacity},
 * what has started by the number of connections. Profilers show the carriers' names, {@code ForkJoinPool-1-worker-N}.
 *
 * <p><b>Where it comes from.</b> JEP 444; thread-per-request without the price of threads.
 */
final class VirtualThreadsVariant implements Variant {

  static final String SUMMARY = "a virtual thread for each request";

  private final int capacity;
  private final Limit limit;
  private final AtomicInteger waiting = new AtomicInteger();
  private final AtomicInteger unfinished = new AtomicInteger();

  VirtualThreadsVariant(VariantSettings settings) {
    capacity = settings.queueCapacity();
    limit = new Limit(settings);
  }

  @Override
  public void submit(Request request) {
    if (waiting.incrementAndGet() > capacity) {
      waiting.decrementAndGet();
      request.reject(Rejection.QUEUE_FULL);
      return;
    }
    unfinished.incrementAndGet();
    Thread.ofVirtual()
        .start(
            () -> {
              waiting.decrementAndGet();
              try {
                limit.run(request);
              } finally {
                unfinished.decrementAndGet();
              }
            });
  }

  @Override
  public int queueDepth() {
    return Math.clamp(waiting.get(), 0, capacity);
  }

  @Override
  public int queueCapacity() {
    return capacity;
  }

  @Override
  public void close() {
    while (unfinished.get() > 0) {
      LockSupport.parkNanos(1_000_000);
    }
  }
}
