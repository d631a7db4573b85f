package lsmlab.server.variant;

import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Worker threads take requests from a non-blocking queue of Michael and Scott, oldest first; idle ones sleep.
 *
 * <p><b>How a request travels.</b> As in {@link QueueVariant}, through a {@link ConcurrentLinkedQueue}: socket →
 * selector thread → queue → a worker → storage → socket.
 *
 * <p><b>What it costs.</b> A node for each request and compare-and-set instead of locks: threads that meet retry and do
 * not sleep, so there is nothing to see in a lock profile, and the time turns up as CPU. The queue itself has no bound
 * and no cheap size; the bound is a counter beside it, which all threads write.
 *
 * <p><b>Where it comes from.</b> M. M. Michael and M. L. Scott, "Simple, Fast, and Practical Non-Blocking and Blocking
 * Concurrent Queue Algorithms", PODC 1996, the non-blocking one.
 */
final class MsQueueVariant extends NonBlockingQueueVariant {

  static final String SUMMARY = "workers take requests from a non-blocking Michael-Scott queue";

  private final AtomicInteger waiting = new AtomicInteger();

  MsQueueVariant(VariantSettings settings) {
    super(new ConcurrentLinkedQueue<>(), settings.queueCapacity(), settings);
    start(settings.workers());
  }

  @Override
  boolean offer(Request request) {
    if (waiting.incrementAndGet() > queueCapacity()) {
      waiting.decrementAndGet();
      return false;
    }
    return super.offer(request);
  }

  @Override
  void taken() {
    waiting.decrementAndGet();
  }

  @Override
  public int queueDepth() {
    return Math.clamp(waiting.get(), 0, queueCapacity());
  }
}
