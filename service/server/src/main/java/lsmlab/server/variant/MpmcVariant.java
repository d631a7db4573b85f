package lsmlab.server.variant;

import org.jctools.queues.MpmcArrayQueue;

/**
 * Worker threads take requests from a bounded non-blocking array queue, oldest first.
 *
 * <p><b>How a request travels.</b> As in {@link QueueVariant}, through a {@link MpmcArrayQueue}: socket → selector
 * thread → queue → a worker → storage → socket.
 *
 * <p><b>What it costs.</b> One compare-and-set at each end and no allocation: a slot's sequence number tells whose turn
 * it is, so producers and consumers meet only at a full or an empty queue. Its capacity is a power of two: the
 * configured one is rounded up. Workers idle and wake as in {@link QueueVariant}.
 *
 * <p><b>Where it comes from.</b> D. Vyukov's bounded MPMC queue, as JCTools has it.
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
