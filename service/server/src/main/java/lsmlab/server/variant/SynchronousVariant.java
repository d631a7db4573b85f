package lsmlab.server.variant;

import java.util.concurrent.SynchronousQueue;

/**
 * The selector thread hands each request to a worker that waits for one; where none does, the request is rejected.
 *
 * <p><b>How a request travels.</b> Socket → selector thread → a waiting worker's hands → storage → socket. Nothing
 * ever waits in between.
 *
 * <p><b>What it costs.</b> A wake-up for nearly every request. There is no queue, so there is no queueing delay: the
 * latency of what is accepted stays near the storage's whatever the load, and a burst of more requests than workers is
 * answered 503, however short it is. {@code queue_capacity} says nothing here.
 *
 * <p><b>Where it comes from.</b> What {@code Executors.newCachedThreadPool} uses, without its unbounded threads; W. N.
 * Scherer, D. Lea and M. L. Scott, "Scalable Synchronous Queues", PPoPP 2006.
 */
final class SynchronousVariant extends BlockingQueueVariant {

  static final String SUMMARY = "a waiting worker gets the request from hand to hand; no queue";

  SynchronousVariant(VariantSettings settings) {
    super(new SynchronousQueue<>(), settings.workers(), 0);
  }
}
