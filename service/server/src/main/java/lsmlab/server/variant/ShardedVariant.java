package lsmlab.server.variant;

import java.util.List;
import java.util.stream.IntStream;
import lsmlab.server.request.Rejection;
import lsmlab.server.request.Request;
import lsmlab.server.variant.queue.IdleStrategy;
import lsmlab.server.variant.queue.RequestQueue;
import lsmlab.server.variant.queue.WorkQueue;
import org.jctools.queues.MpscArrayQueue;

/**
 * Every key belongs to one worker, and every worker has its own queue.
 *
 * <p><b>How a request travels.</b> Socket → selector thread → the queue of the worker that the key's hash selects →
 * that worker → storage → socket. A range goes to the worker of its first key.
 *
 * <p><b>What it costs.</b> Workers share nothing: they never contend for a queue, and two writes of the same key never
 * run at the same time. But no worker helps another whose keys are popular: with a skewed load one queue fills up and
 * rejects requests while other workers sleep. {@code queue_capacity} is divided among the workers and rounded up to
 * powers of two.
 *
 * <p><b>Where it comes from.</b> Shared-nothing, thread-per-core servers: M. Stonebraker et al., "The End of an
 * Architectural Era", VLDB 2007; Seastar.
 */
final class ShardedVariant implements Variant {

  static final String SUMMARY = "a key's hash selects its worker; each worker has its own queue";

  private final List<WorkQueue> shards;
  private final Workers workers;

  ShardedVariant(VariantSettings settings) {
    int capacity = Math.max(2, Math.ceilDiv(settings.queueCapacity(), settings.workers()));
    List<WorkQueue> queues =
        IntStream.range(0, settings.workers())
            .mapToObj(i -> shard(new MpscArrayQueue<>(capacity), settings.idle()))
            .toList();
    OverloadPolicy overload = new OverloadPolicy(settings);
    shards = queues;
    workers =
        Workers.start(
            settings,
            number ->
                () -> {
                  Request request = queues.get(number).take(0);
                  if (request != null) {
                    overload.run(request);
                  }
                  return request != null;
                });
  }

  private static WorkQueue shard(MpscArrayQueue<Request> queue, IdleStrategy idle) {
    return new WorkQueue(RequestQueue.of(queue, queue.capacity()), 1, idle);
  }

  @Override
  public void submit(Request request) {
    if (!shards.get(Math.floorMod(request.keyHash(), shards.size())).offer(request)) {
      request.reject(Rejection.QUEUE_FULL);
    }
  }

  @Override
  public int queueDepth() {
    return shards.stream().mapToInt(WorkQueue::size).sum();
  }

  @Override
  public int queueCapacity() {
    return shards.stream().mapToInt(WorkQueue::capacity).sum();
  }

  @Override
  public void close() {
    shards.forEach(WorkQueue::close);
    workers.join();
  }
}
