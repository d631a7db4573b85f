package lsmlab.server.variant;

import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import lsmlab.server.variant.queue.IdleStrategy;
import lsmlab.server.variant.queue.QueuePolicy;

/** The variants by name: the values of {@code variant} in a configuration. A new variant takes one line here. */
public final class Variants {

  /**
   * A variant that a configuration can name.
   *
   * @param name the variant's name in a configuration
   * @param summary its line in the list of variants
   * @param policies the supported policies for a full queue; the first is {@link QueuePolicy#REJECT_NEWEST}
   * @param idles the supported strategies of idle workers; the first is {@link IdleStrategy#PARK}
   */
  public record Entry(
      String name,
      String summary,
      Function<VariantSettings, Variant> factory,
      List<QueuePolicy> policies,
      List<IdleStrategy> idles) {

    /**
     * Makes the entry of a variant that can only reject the newest request, and whose idle threads, if any, are parked.
     */
    public Entry(String name, String summary, Function<VariantSettings, Variant> factory) {
      this(name, summary, factory, List.of(QueuePolicy.REJECT_NEWEST), List.of(IdleStrategy.PARK));
    }

    /** Returns the same variant with other policies. */
    private Entry with(List<QueuePolicy> others) {
      return new Entry(name, summary, factory, others, idles);
    }

    /** Returns the same variant with every idle strategy. */
    private Entry withAnyIdle() {
      return new Entry(name, summary, factory, policies, List.of(IdleStrategy.values()));
    }
  }

  private static final List<QueuePolicy> ANY_POLICY = List.of(QueuePolicy.values());

  /** Policies of variants whose oldest request only the queue's own workers can take. */
  private static final List<QueuePolicy> REJECT_OR_LATE =
      List.of(QueuePolicy.REJECT_NEWEST, QueuePolicy.DROP_LATE);

  private static final List<QueuePolicy> REJECT_OR_OLDEST =
      List.of(QueuePolicy.REJECT_NEWEST, QueuePolicy.DROP_OLDEST);

  private static final List<Entry> ALL =
      List.of(
          new Entry("sync", SyncVariant.SUMMARY, settings -> new SyncVariant()),
          new Entry("per-core", PerCoreVariant.SUMMARY, settings -> new PerCoreVariant()),
          new Entry("queue", QueueVariant.SUMMARY, QueueVariant::new)
              .with(ANY_POLICY)
              .withAnyIdle(),
          new Entry("queue-batch", QueueBatchVariant.SUMMARY, QueueBatchVariant::new)
              .with(ANY_POLICY)
              .withAnyIdle(),
          new Entry("array-queue", ArrayQueueVariant.SUMMARY, ArrayQueueVariant::new)
              .with(ANY_POLICY)
              .withAnyIdle(),
          new Entry("stack", StackVariant.SUMMARY, StackVariant::new)
              .with(ANY_POLICY)
              .withAnyIdle(),
          new Entry("adaptive-lifo", AdaptiveLifoVariant.SUMMARY, AdaptiveLifoVariant::new)
              .with(REJECT_OR_OLDEST)
              .withAnyIdle(),
          new Entry("ms-queue", MsQueueVariant.SUMMARY, MsQueueVariant::new)
              .with(ANY_POLICY)
              .withAnyIdle(),
          new Entry("mpmc", MpmcVariant.SUMMARY, MpmcVariant::new).with(ANY_POLICY).withAnyIdle(),
          new Entry("disruptor", DisruptorVariant.SUMMARY, DisruptorVariant::new)
              .with(REJECT_OR_LATE)
              .withAnyIdle(),
          new Entry("sharded", ShardedVariant.SUMMARY, ShardedVariant::new)
              .with(REJECT_OR_LATE)
              .withAnyIdle(),
          new Entry("priority", PriorityVariant.SUMMARY, PriorityVariant::new).withAnyIdle(),
          new Entry("executor", ExecutorVariant.SUMMARY, ExecutorVariant::new).with(REJECT_OR_LATE),
          new Entry("executor-array", ExecutorVariant.OnArray.SUMMARY, ExecutorVariant.OnArray::new)
              .with(REJECT_OR_LATE),
          new Entry("executor-stack", ExecutorVariant.OnStack.SUMMARY, ExecutorVariant.OnStack::new)
              .with(REJECT_OR_LATE),
          new Entry("executor-deque", ExecutorVariant.OnDeque.SUMMARY, ExecutorVariant.OnDeque::new)
              .with(REJECT_OR_LATE),
          new Entry(
                  "executor-ms-queue",
                  ExecutorVariant.OnMsQueue.SUMMARY,
                  ExecutorVariant.OnMsQueue::new)
              .with(REJECT_OR_LATE),
          new Entry("one-nio-workers", OneNioWorkersVariant.SUMMARY, OneNioWorkersVariant::new),
          new Entry("synchronous", HandoffVariant.SUMMARY, HandoffVariant::new),
          new Entry("fork-join", ForkJoinVariant.SUMMARY, ForkJoinVariant::new)
              .with(REJECT_OR_LATE),
          new Entry("virtual-threads", VirtualThreadsVariant.SUMMARY, VirtualThreadsVariant::new)
              .with(REJECT_OR_LATE));

  private Variants() {}

  /** Returns all variants, the default first. */
  public static List<Entry> all() {
    return ALL;
  }

  /** Returns the variant with this name, if there is one. */
  public static Optional<Entry> find(String name) {
    return ALL.stream().filter(entry -> entry.name().equals(name)).findFirst();
  }
}
