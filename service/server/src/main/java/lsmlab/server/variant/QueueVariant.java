package lsmlab.server.variant;

import java.util.concurrent.LinkedBlockingQueue;
import lsmlab.server.variant.queue.RequestQueue;

/**
 * Worker threads take requests from a {@link LinkedBlockingQueue}, oldest first.
 *
 * <p><b>How a request travels.</b> Socket → selector thread → queue → a worker → storage → socket. The worker sends the
 * response itself.
 *
 * <p><b>What it costs.</b> A node of 24 bytes for each request; one lock for all producers and one for all consumers,
 * so that a selector and a worker seldom contend; a futex call to wake a parked worker. Under overload every accepted
 * request waits for the whole queue ahead of it, so the queue's capacity determines the latency. A worker never blocks
 * inside the queue, so {@link MsQueueVariant} differs from this variant only in the queue's algorithm.
 *
 * <p><b>Where it comes from.</b> M. M. Michael and M. L. Scott, "Simple, Fast, and Practical Non-Blocking and Blocking
 * Concurrent Queue Algorithms", PODC 1996, the blocking algorithm. {@link ExecutorVariant} uses the same queue in the
 * usual way.
 */
final class QueueVariant extends QueuedVariant {

  static final String SUMMARY = "workers take requests from a LinkedBlockingQueue, oldest first";

  QueueVariant(VariantSettings settings) {
    super(
        RequestQueue.of(
            new LinkedBlockingQueue<>(settings.queueCapacity()), settings.queueCapacity()),
        settings);
  }
}
