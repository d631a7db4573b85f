package lsmlab.server.variant;

import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import lsmlab.storage.WriteBatch;

/**
 * The settings of a variant. Each variant uses those that it needs.
 *
 * @param workers worker threads, 1 or more
 * @param queueCapacity requests that may wait, 1 or more
 * @param deadlineNanos how long a request may wait if late ones are dropped
 * @param policy what happens when the queue is full
 * @param idle what an idle worker does
 * @param batch requests that a worker takes at once, 1 or more; for variants that batch
 * @param carriers threads that carry virtual threads; 0 for the JVM's own choice
 * @param storage writes a batch and returns when each of its writes is stored or has failed
 * @param closeNanosMax how long {@link Variant#close} waits for the variant's threads
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

  /** Batch size unless a configuration sets another one. */
  public static final int DEFAULT_BATCH = 16;

  private static final long DEFAULT_CLOSE_NANOS_MAX = TimeUnit.SECONDS.toNanos(5);

  /** Settings with defaults for the rest, and without a storage for batches. */
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
          throw new IllegalStateException("these settings have no storage");
        },
        DEFAULT_CLOSE_NANOS_MAX);
  }

  /** The same settings with another number of workers. */
  public VariantSettings withWorkers(int count) {
    return new VariantSettings(
        count, queueCapacity, deadlineNanos, policy, idle, batch, carriers, storage, closeNanosMax);
  }

  /** The same settings with another policy at the queue's limit. */
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

  /** The same settings with another idle strategy. */
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

  /** The same settings with another size of batches. */
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

  /** The same settings with another number of carrier threads. */
  public VariantSettings withCarriers(int count) {
    return new VariantSettings(
        workers, queueCapacity, deadlineNanos, policy, idle, batch, count, storage, closeNanosMax);
  }

  /** The same settings with a storage that writes batches. */
  public VariantSettings withStorage(Consumer<WriteBatch> other) {
    return new VariantSettings(
        workers, queueCapacity, deadlineNanos, policy, idle, batch, carriers, other, closeNanosMax);
  }

  /** The same settings with another limit on the time that closing takes. */
  public VariantSettings withCloseNanosMax(long nanos) {
    return new VariantSettings(
        workers, queueCapacity, deadlineNanos, policy, idle, batch, carriers, storage, nanos);
  }
}
