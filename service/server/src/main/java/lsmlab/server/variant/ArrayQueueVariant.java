package lsmlab.server.variant;

import java.util.concurrent.ArrayBlockingQueue;
import lsmlab.server.variant.queue.RequestQueue;

/**
 * Worker threads take requests from an {@link ArrayBlockingQueue}, oldest first.
 *
 * <p><b>How a request travels.</b> As in {@link QueueVariant}: socket → selector thread → queue → a worker → storage →
 * socket.
 *
 * <p><b>What it costs.</b> No allocation for a request, but one lock for both ends: selectors and workers wait for each
 * other, which shows as lock contention as soon as several of them are awake. The array is allocated once.
 *
 * <p><b>Where it comes from.</b> The bounded buffer of every textbook: one lock, two conditions (C. A. R. Hoare,
 * "Monitors: An Operating System Structuring Concept", CACM 1974).
 */
final class ArrayQueueVariant extends QueuedVariant {

  static final String SUMMARY = "workers take requests from an ArrayBlockingQueue, oldest first";

  ArrayQueueVariant(VariantSettings settings) {
    super(
        RequestQueue.of(
            new ArrayBlockingQueue<>(settings.queueCapacity()), settings.queueCapacity()),
        settings);
  }
}
