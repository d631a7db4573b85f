package lsmlab.server.variant;

import java.util.concurrent.ArrayBlockingQueue;

/**
 * A {@link java.util.concurrent.ThreadPoolExecutor} on an {@link ArrayBlockingQueue} runs the requests, oldest first.
 *
 * <p><b>How a request travels.</b> As in {@link ExecutorVariant}.
 *
 * <p><b>What it costs.</b> A task object for each request, but no queue node. Selectors and workers share one lock, which
 * {@link java.util.concurrent.LinkedBlockingQueue} has twice. {@link ArrayQueueVariant} has the same queue without the
 * pool.
 *
 * <p><b>Where it comes from.</b> The usual bounded pool of Java services that avoid the allocation of nodes.
 */
final class ExecutorArrayVariant extends ExecutorVariant {

  static final String SUMMARY = "a ThreadPoolExecutor on an ArrayBlockingQueue";

  ExecutorArrayVariant(VariantSettings settings) {
    super(settings, new ArrayBlockingQueue<>(settings.queueCapacity()));
  }
}
