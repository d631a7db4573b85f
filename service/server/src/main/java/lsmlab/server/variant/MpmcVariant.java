package lsmlab.server.variant;

import lsmlab.server.request.Request;
import lsmlab.server.variant.queue.RequestQueue;
import org.jctools.queues.MpmcArrayQueue;

/**
 * Worker threads take requests from a bounded non-blocking array queue, oldest first.
 *
 * <p><b>How a request travels.</b> As in {@link QueueVariant}, through a {@link MpmcArrayQueue}: socket → selector
 * thread → queue → a worker → storage → socket.
 *
 * <p><b>What it costs.</b> One compare-and-set at each end and no allocation: a slot's sequence number says whose turn
 * it is, so producers and consumers contend only when the queue is full or empty. The configured capacity is rounded up
 * to a power of two. Workers idle and wake as in {@link QueueVariant}.
 *
 * <p><b>Where it comes from.</b> D. Vyukov's bounded MPMC queue, in the implementation of JCTools.
 */
final class MpmcVariant extends QueuedVariant {

  static final String SUMMARY = "workers take requests from a bounded non-blocking array queue";

  MpmcVariant(VariantSettings settings) {
    this(new MpmcArrayQueue<>(Math.max(2, settings.queueCapacity())), settings);
  }

  private MpmcVariant(MpmcArrayQueue<Request> queue, VariantSettings settings) {
    super(RequestQueue.of(queue, queue.capacity()), settings);
  }
}
