package lsmlab.server.variant;

import java.util.concurrent.LinkedTransferQueue;
import lsmlab.server.variant.queue.WaitingCount;

/**
 * A {@link java.util.concurrent.ThreadPoolExecutor} on a non-blocking queue of Michael and Scott runs the requests,
 * oldest first.
 *
 * <p><b>How a request travels.</b> As in {@link ExecutorVariant}, through a {@link LinkedTransferQueue}.
 *
 * <p><b>What it costs.</b> A task object and a queue node for each request, and compare-and-set instead of locks. An idle
 * worker appends a node that asks for a request, spins briefly, and parks; the selector that fills the node wakes the
 * worker that has waited longest. No thread ever holds a lock of the queue. The queue has no bound; a separate counter,
 * which all threads write, bounds it.
 *
 * <p><b>Where it comes from.</b> M. M. Michael and M. L. Scott, "Simple, Fast, and Practical Non-Blocking and Blocking
 * Concurrent Queue Algorithms", PODC 1996, with the waiting takers of W. N. Scherer and M. L. Scott, "Nonblocking
 * Concurrent Data Structures with Condition Synchronization", DISC 2004. {@link MsQueueVariant} has such a queue without
 * the pool.
 */
final class ExecutorMsQueueVariant extends ExecutorVariant {

  static final String SUMMARY = "a ThreadPoolExecutor on a non-blocking Michael-Scott queue";

  ExecutorMsQueueVariant(VariantSettings settings) {
    super(settings, new Bounded(new WaitingCount(settings.queueCapacity())));
  }

  /** A queue that counts its elements, for a pool whose threads only call {@code take}. */
  private static final class Bounded extends LinkedTransferQueue<Runnable> {
    private static final long serialVersionUID = 1L;

    private final transient WaitingCount waiting;

    Bounded(WaitingCount waiting) {
      this.waiting = waiting;
    }

    @Override
    public boolean offer(Runnable task) {
      return waiting.enter() && super.offer(task);
    }

    @Override
    public Runnable take() throws InterruptedException {
      Runnable task = super.take();
      waiting.leave();
      return task;
    }

    /** Returns the count, because the queue would have to visit every node. */
    @Override
    public int size() {
      return waiting.get();
    }
  }
}
