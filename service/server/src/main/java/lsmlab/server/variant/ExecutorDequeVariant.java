package lsmlab.server.variant;

import java.util.concurrent.LinkedBlockingDeque;

/**
 * A {@link java.util.concurrent.ThreadPoolExecutor} on a {@link LinkedBlockingDeque} runs the requests, oldest first.
 *
 * <p><b>How a request travels.</b> As in {@link ExecutorVariant}.
 *
 * <p><b>What it costs.</b> A task object and a queue node for each request, and one lock for both ends.
 *
 * <p><b>Where it comes from.</b> The control between {@link ExecutorVariant}, which has the same order but another
 * class, and {@link ExecutorStackVariant}, which has the same class but the opposite order.
 */
final class ExecutorDequeVariant extends ExecutorVariant {

  static final String SUMMARY = "a ThreadPoolExecutor on a LinkedBlockingDeque, oldest first";

  ExecutorDequeVariant(VariantSettings settings) {
    super(settings, new LinkedBlockingDeque<>(settings.queueCapacity()));
  }
}
