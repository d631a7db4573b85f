package lsmlab.server.variant;

import lsmlab.server.request.Request;
import lsmlab.server.variant.queue.RequestQueue;
import lsmlab.server.variant.queue.WorkQueue;

/**
 * Worker threads that share one {@link RequestQueue}: the base of the variants that differ only in their queue. The
 * {@link QueuePolicy} decides what happens when the queue is full, and the {@link IdleStrategy} what workers do when it
 * is empty. {@link WorkQueue} explains the wake-ups.
 */
abstract class QueuedVariant implements Variant {

  private final WorkQueue queue;
  private final OverloadPolicy overload;
  private final Workers workers;

  /** Starts the workers on the queue. */
  QueuedVariant(RequestQueue queue, VariantSettings settings) {
    WorkQueue work = new WorkQueue(queue, settings.workers(), settings.idle());
    OverloadPolicy policy = new OverloadPolicy(settings);
    this.queue = work;
    this.overload = policy;
    this.workers =
        Workers.start(
            settings,
            place ->
                () -> {
                  Request request = work.take(place);
                  if (request != null) {
                    policy.run(request);
                  }
                  return request != null;
                });
  }

  @Override
  public void submit(Request request) {
    if (!queue.offer(request)) {
      overload.full(request, queue::pollOldest, queue::offer);
    }
  }

  @Override
  public int queueDepth() {
    return queue.size();
  }

  @Override
  public int queueCapacity() {
    return queue.capacity();
  }

  @Override
  public void close() {
    queue.close();
    workers.join();
  }
}
