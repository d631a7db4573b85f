package lsmlab.server.variant;

import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import lsmlab.server.variant.queue.IdleStrategy;
import lsmlab.server.variant.queue.QueuePolicy;
import lsmlab.storage.WriteBatch;

/**
 * The settings of a variant. Each variant uses those that it needs.
 *
 * @param workers number of worker threads, 1 or more
 * @param queueCapacity maximum number of waiting requests, 1 or more
 * @param deadlineNanos nanoseconds that a request may wait before variants that drop late requests drop it
 * @param policy what happens when the queue is full
 * @param idle what an idle worker does
 * @param batch maximum number of requests that a worker takes at once, 1 or more; for variants that batch
 * @param carriers number of carrier threads of virtual threads; 0 for the JVM's default
 * @param storage writes a batch and returns when each of its writes is stored or has failed
 * @param closeNanosMax nanoseconds for which {@link Variant#close} waits for the variant's threads at most
 */
public record VariantSettings(
    int workers,
    int queueCapacity,
    long deadlineNanos,
    QueuePolicy policy,
    IdleStrategy idle,
    int batch,
    int carriers,
    Consumer<WriteBatch> storage,
    long closeNanosMax) {

  private static final int DEFAULT_BATCH = 16;
  private static final long DEFAULT_CLOSE_NANOS_MAX = TimeUnit.SECONDS.toNanos(5);

  /** Makes settings with defaults for everything else, and without a storage for batches. */
  public VariantSettings(int workers, int queueCapacity, long deadlineNanos) {
    this(
        workers,
        queueCapacity,
        deadlineNanos,
        QueuePolicy.REJECT_NEWEST,
        IdleStrategy.PARK,
        DEFAULT_BATCH,
        0,
        batch -> {
          throw new IllegalStateException("withStorage was not called");
        },
        DEFAULT_CLOSE_NANOS_MAX);
  }

  /** Returns the same settings with another number of workers. */
  public VariantSettings withWorkers(int count) {
    return new VariantSettings(
        count, queueCapacity, deadlineNanos, policy, idle, batch, carriers, storage, closeNanosMax);
  }

  /** Returns the same settings with another policy for a full queue. */
  public VariantSettings withPolicy(QueuePolicy other) {
    return new VariantSettings(
        workers,
        queueCapacity,
        deadlineNanos,
        other,
        idle,
        batch,
        carriers,
        storage,
        closeNanosMax);
  }

  /** Returns the same settings with another idle strategy. */
  public VariantSettings withIdle(IdleStrategy other) {
    return new VariantSettings(
        workers,
        queueCapacity,
        deadlineNanos,
        policy,
        other,
        batch,
        carriers,
        storage,
        closeNanosMax);
  }

  /** Returns the same settings with another batch size. */
  public VariantSettings withBatch(int size) {
    return new VariantSettings(
        workers,
        queueCapacity,
        deadlineNanos,
        policy,
        idle,
        size,
        carriers,
        storage,
        closeNanosMax);
  }

  /** Returns the same settings with another number of carrier threads. */
  public VariantSettings withCarriers(int count) {
    return new VariantSettings(
        workers, queueCapacity, deadlineNanos, policy, idle, batch, count, storage, closeNanosMax);
  }

  /** Returns the same settings with a storage that writes batches. */
  public VariantSettings withStorage(Consumer<WriteBatch> other) {
    return new VariantSettings(
        workers, queueCapacity, deadlineNanos, policy, idle, batch, carriers, other, closeNanosMax);
  }

  /** Returns the same settings with another time limit for closing. */
  public VariantSettings withCloseNanosMax(long nanos) {
    return new VariantSettings(
        workers, queueCapacity, deadlineNanos, policy, idle, batch, carriers, storage, nanos);
  }
}
