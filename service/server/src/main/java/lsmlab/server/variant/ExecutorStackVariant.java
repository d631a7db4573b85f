package lsmlab.server.variant;

import java.util.concurrent.LinkedBlockingDeque;

/**
 * A {@link java.util.concurrent.ThreadPoolExecutor} on a {@link LinkedBlockingDeque} runs the requests, newest first.
 *
 * <p><b>How a request travels.</b> As in {@link ExecutorVariant}, but a pool thread takes the request that was added
 * last.
 *
 * <p><b>What it costs.</b> As {@link ExecutorDequeVariant}. Under overload some requests wait until the load falls, as in
 * {@link StackVariant}, which has the same deque without the pool.
 *
 * <p><b>Where it comes from.</b> A pool calls only {@code offer} and {@code take}, so a deque whose {@code take} removes
 * the last element turns it into a stack.
 */
final class ExecutorStackVariant extends ExecutorVariant {

  static final String SUMMARY = "a ThreadPoolExecutor on a LinkedBlockingDeque, newest first";

  ExecutorStackVariant(VariantSettings settings) {
    super(settings, new Stack(settings.queueCapacity()));
  }

  /** A deque that adds and removes at its tail, for a pool whose threads only call {@code take}. */
  private static final class Stack extends LinkedBlockingDeque<Runnable> {
    private static final long serialVersionUID = 1L;

    Stack(int capacity) {
      super(capacity);
    }

    @Override
    public Runnable take() throws InterruptedException {
      return takeLast();
    }
  }
}
