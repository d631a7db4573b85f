package lsmlab.server.variant;

import java.util.concurrent.ConcurrentLinkedQueue;
import lsmlab.server.request.Request;
import lsmlab.server.variant.queue.RequestQueue;
import lsmlab.server.variant.queue.WaitingCount;

/**
 * Worker threads take requests from a non-blocking queue of Michael and Scott, oldest first.
 *
 * <p><b>How a request travels.</b> As in {@link QueueVariant}, through a {@link ConcurrentLinkedQueue}: socket →
 * selector thread → queue → a worker → storage → socket.
 *
 * <p><b>What it costs.</b> A node for each request, and compare-and-set instead of locks. Threads that contend retry
 * and do not sleep, so a lock profile shows nothing and the time appears as CPU time. The queue has neither a bound nor
 * a cheap size; a separate counter, which all threads write, bounds it. Workers idle and wake as in {@link
 * QueueVariant}.
 *
 * <p><b>Where it comes from.</b> M. M. Michael and M. L. Scott, "Simple, Fast, and Practical Non-Blocking and Blocking
 * Concurrent Queue Algorithms", PODC 1996, the non-blocking algorithm.
 */
final class MsQueueVariant extends QueuedVariant {

  static final String SUMMARY = "workers take requests from a non-blocking Michael-Scott queue";

  MsQueueVariant(VariantSettings settings) {
    super(
        new Counted(new ConcurrentLinkedQueue<>(), new WaitingCount(settings.queueCapacity())),
        settings);
  }

  /** An unbounded queue and the counter that bounds it. */
  private record Counted(ConcurrentLinkedQueue<Request> queue, WaitingCount waiting)
      implements RequestQueue {
    @Override
    public boolean offer(Request request) {
      return waiting.enter() && queue.offer(request);
    }

    @Override
    public Request poll() {
      Request request = queue.poll();
      if (request != null) {
        waiting.leave();
      }
      return request;
    }

    @Override
    public boolean isEmpty() {
      return queue.isEmpty();
    }

    @Override
    public int size() {
      return waiting.get();
    }

    @Override
    public int capacity() {
      return waiting.capacity();
    }
  }
}
