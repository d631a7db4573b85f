package lsmlab.server.variant;

import java.util.ArrayList;
import java.util.List;
import org.jctools.queues.MpscArrayQueue;

/**
 * Every key belongs to one worker, which has a queue of its own.
 *
 * <p><b>How a request travels.</b> Socket → selector thread → the queue of the worker that the key's hash names → that
 * worker → storage → socket. A range goes to the worker of its first key.
 *
 * <p><b>What it costs.</b> Workers share nothing: no two of them meet at a queue, and two writes of one key never run at
 * once. But nobody helps a worker whose keys are popular: with a skewed load one queue fills and rejects while other
 * workers sleep. {@code queue_capacity} is divided among the workers and rounded up to powers of two.
 *
 * <p><b>Where it comes from.</b> Shared-nothing, thread-per-core servers: M. Stonebraker et al., "The End of an
 * Architectural Era", VLDB 2007; Seastar.
 */
final class ShardedVariant implements Variant {

  static final String SUMMARY = "a key's hash names its worker; each has a queue of its own";

  /** One worker's queue and where it sleeps. */
  private record Shard(MpscArrayQueue<Request> queue, ParkingLot lot) {}

  private final List<Shard> shards = new ArrayList<>();
  private final Workers workers;
  private volatile boolean closed;

  ShardedVariant(VariantSettings settings) {
    workers = new Workers(new Limit(settings));
    int capacity = Math.max(2, Math.ceilDiv(settings.queueCapacity(), settings.workers()));
    for (int i = 0; i < settings.workers(); i++) {
      shards.add(new Shard(new MpscArrayQueue<>(capacity), new ParkingLot(1)));
    }
    for (Shard shard : shards) {
      workers.add(() -> next(shard));
    }
  }

  private Request next(Shard shard) {
    while (true) {
      Request request = shard.queue().poll();
      if (request != null) {
        return request;
      }
      if (closed && shard.queue().isEmpty()) {
        return null;
      }
      shard.lot().park(0, () -> shard.queue().isEmpty() && !closed);
    }
  }

  @Override
  public void submit(Request request) {
    Shard shard = shards.get(Math.floorMod(request.keyHash(), shards.size()));
    if (shard.queue().offer(request)) {
      shard.lot().wakeOne();
    } else {
      request.reject(Rejection.QUEUE_FULL);
    }
  }

  @Override
  public int queueDepth() {
    return shards.stream().mapToInt(shard -> shard.queue().size()).sum();
  }

  @Override
  public int queueCapacity() {
    return shards.stream().mapToInt(shard -> shard.queue().capacity()).sum();
  }

  @Override
  public void close() {
    closed = true;
    for (Shard shard : shards) {
      shard.lot().wakeAll();
    }
    workers.join();
  }
}
