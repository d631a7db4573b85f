package lsmlab.server.variant;

import java.util.concurrent.LinkedBlockingDeque;
import lsmlab.server.request.Request;
import lsmlab.server.variant.queue.RequestQueue;

/**
 * Worker threads take the newest request first, from a {@link LinkedBlockingDeque} used as a stack.
 *
 * <p><b>How a request travels.</b> Socket → selector thread → top of the stack → a worker → storage → socket.
 *
 * <p><b>What it costs.</b> A node for each request and one lock for both ends. While workers keep up it behaves like a
 * queue. Under overload most requests are answered at once, because the newest is served while its client still waits,
 * but a few wait until the load falls. The median is better and the maximum far worse than with first in, first out.
 *
 * <p><b>Where it comes from.</b> The LIFO half of {@link AdaptiveLifoVariant}, without its overload condition and its
 * limit on waiting.
 */
final class StackVariant extends QueuedVariant {

  static final String SUMMARY = "workers take the newest request first, from a LinkedBlockingDeque";

  StackVariant(VariantSettings settings) {
    super(
        new Stack(new LinkedBlockingDeque<>(settings.queueCapacity()), settings.queueCapacity()),
        settings);
  }

  /** A deque from which the newest element is taken first. */
  private record Stack(LinkedBlockingDeque<Request> deque, int capacity) implements RequestQueue {
    @Override
    public boolean offer(Request request) {
      return deque.offerFirst(request);
    }

    @Override
    public Request poll() {
      return deque.pollFirst();
    }

    @Override
    public Request pollOldest() {
      return deque.pollLast();
    }

    @Override
    public boolean isEmpty() {
      return deque.isEmpty();
    }

    @Override
    public int size() {
      return deque.size();
    }
  }
}
