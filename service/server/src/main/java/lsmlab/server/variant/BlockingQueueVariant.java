package lsmlab.server.variant;

import java.util.concurrent.BlockingQueue;

/**
 * Worker threads around one {@link BlockingQueue}: what the variants have in common that differ in the queue alone.
 * New requests are rejected while it is full.
 */
abstract class BlockingQueueVariant implements Variant {

  private final BlockingQueue<Request> queue;
  private final int capacity;
  private final Workers workers;

  /** Starts the workers on the queue, which holds at most {@code capacity} requests. */
  BlockingQueueVariant(BlockingQueue<Request> queue, int workers, int capacity) {
    this.queue = queue;
    this.capacity = capacity;
    this.workers = Workers.start(workers, () -> Stop.unlessStop(queue.take()));
  }

  @Override
  public void submit(Request request) {
    if (!queue.offer(request)) {
      request.reject(Rejection.QUEUE_FULL);
    }
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
