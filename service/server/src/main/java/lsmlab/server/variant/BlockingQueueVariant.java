package lsmlab.server.variant;

import java.util.concurrent.BlockingQueue;

/**
 * Worker threads around one {@link BlockingQueue}: what the variants have in common that differ in the queue alone.
 * While it is full the {@link QueuePolicy} decides.
 */
abstract class BlockingQueueVariant implements Variant {

  private final BlockingQueue<Request> queue;
  private final int capacity;
  private final Limit limit;
  private final Workers workers;

  /** Starts the workers on the queue, which holds at most {@code capacity} requests; more are rejected. */
  BlockingQueueVariant(BlockingQueue<Request> queue, int workers, int capacity) {
    this(queue, workers, capacity, Limit.REJECT_NEWEST);
  }

  /** As the other one, with the workers, the capacity and the policy at the limit that the settings name. */
  BlockingQueueVariant(BlockingQueue<Request> queue, VariantSettings settings) {
    this(queue, settings.workers(), settings.queueCapacity(), new Limit(settings));
  }

  private BlockingQueueVariant(
      BlockingQueue<Request> queue, int workers, int capacity, Limit limit) {
    this.queue = queue;
    this.capacity = capacity;
    this.limit = limit;
    this.workers = Workers.start(workers, limit, () -> Stop.unlessStop(queue.take()));
  }

  @Override
  public void submit(Request request) {
    if (!queue.offer(request)) {
      limit.full(request, this::takeOldest, queue::offer);
    }
  }

  /** Takes out what has waited longest; null where nothing waits. */
  Request takeOldest() {
    return queue.poll();
  }

  @Override
  public int queueDepth() {
    return queue.size();
  }

  @Override
  public int queueCapacity() {
    return capacity;
  }

  @Override
  public void close() {
    for (int i = 0; i < workers.count(); i++) {
      putLast();
    }
    workers.join();
  }

  /** Puts one {@link Stop} behind everything that waits; waits for room. */
  private void putLast() {
    boolean interrupted = false;
    while (true) {
      try {
        putBehindAll(Stop.REQUEST);
        break;
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Puts it where it is taken after all that waits now; waits for room. */
  void putBehindAll(Request request) throws InterruptedException {
    queue.put(request);
  }
}
