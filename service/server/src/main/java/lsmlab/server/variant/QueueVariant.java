package lsmlab.server.variant;

import java.util.concurrent.LinkedBlockingQueue;

/**
 * Worker threads take requests from a {@link LinkedBlockingQueue}, oldest first.
 *
 * <p><b>How a request travels.</b> Socket → selector thread → queue → a worker → storage → socket. The worker writes
 * the reply itself.
 *
 * <p><b>What it costs.</b> A node of 24 bytes for each request; one lock for all producers and one for all consumers
 * (Michael and Scott's two-lock queue), so that a selector and a worker seldom meet; a futex wake-up for a worker that
 * sleeps, which costs the selector thread several microseconds of a system call. Under overload every accepted request
 * waits for the whole queue before it: the queue's capacity is the latency.
 *
 * <p><b>Where it comes from.</b> What {@code Executors.newFixedThreadPool} uses; M. M. Michael and M. L. Scott, "Simple,
 * Fast, and Practical Non-Blocking and Blocking Concurrent Queue Algorithms", PODC 1996, the blocking one.
 */
final class QueueVariant extends BlockingQueueVariant {

  static final String SUMMARY = "workers take requests from a LinkedBlockingQueue, oldest first";

  QueueVariant(VariantSettings settings) {
    super(new LinkedBlockingQueue<>(settings.queueCapacity()), settings);
  }
}
