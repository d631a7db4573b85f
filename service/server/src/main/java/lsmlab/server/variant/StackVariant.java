package lsmlab.server.variant;

import java.util.concurrent.LinkedBlockingDeque;

/**
 * Worker threads take the newest request first, from a {@link LinkedBlockingDeque} used as a stack.
 *
 * <p><b>How a request travels.</b> Socket → selector thread → top of the stack → a worker → storage → socket.
 *
 * <p><b>What it costs.</b> A node for each request and one lock for both ends. While workers keep up it behaves like a
 * queue. Under overload most requests are answered at once, because the newest is served while its client still waits,
 * and a few wait until the load falls: a better median and a far worse maximum than first in, first out.
 *
 * <p><b>Where it comes from.</b> Adaptive LIFO: B. Maurer, "Fail at Scale", ACM Queue 13(8), 2015; here it is always
 * last in, first out.
 */
final class StackVariant extends BlockingQueueVariant {

  static final String SUMMARY = "workers take the newest request first, from a LinkedBlockingDeque";

  private final LinkedBlockingDeque<Request> stack;

  StackVariant(VariantSettings settings) {
    this(new Stack(settings.queueCapacity()), settings);
  }

  private StackVariant(Stack stack, VariantSettings settings) {
    super(stack, settings);
    this.stack = stack;
  }

  @Override
  void putBehindAll(Request request) throws InterruptedException {
    stack.putLast(request);
  }

  @Override
  Request takeOldest() {
    return stack.pollLast();
  }

  /** A deque whose queue operations work on its first element. */
  private static final class Stack extends LinkedBlockingDeque<Request> {
    private static final long serialVersionUID = 1L;

    Stack(int capacity) {
      super(capacity);
    }

    @Override
    public boolean offer(Request request) {
      return offerFirst(request);
    }
  }
}
