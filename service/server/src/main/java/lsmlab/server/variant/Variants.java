package lsmlab.server.variant;

import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/** The variants by name: what a configuration's {@code variant:} may say. Another one is one line here. */
public final class Variants {

  /**
   * A variant that can be had.
   *
   * @param name as a configuration names it
   * @param summary one line for a listing
   * @param policies what it can do when its queue is full, {@link QueuePolicy#REJECT_NEWEST} first
   */
  public record Entry(
      String name,
      String summary,
      Function<VariantSettings, Variant> factory,
      List<QueuePolicy> policies) {

    /** One that can only reject who comes last. */
    public Entry(String name, String summary, Function<VariantSettings, Variant> factory) {
      this(name, summary, factory, List.of(QueuePolicy.REJECT_NEWEST));
    }
  }

  private static final List<QueuePolicy> ALL_POLICIES = List.of(QueuePolicy.values());

  /** For queues from whose old end only their own workers can take. */
  private static final List<QueuePolicy> REJECT_OR_LATE =
      List.of(QueuePolicy.REJECT_NEWEST, QueuePolicy.DROP_LATE);

  private static final List<Entry> ALL =
      List.of(
          new Entry("sync", SyncVariant.SUMMARY, settings -> new SyncVariant()),
          new Entry("queue", QueueVariant.SUMMARY, QueueVariant::new, ALL_POLICIES),
          new Entry("array-queue", ArrayQueueVariant.SUMMARY, ArrayQueueVariant::new, ALL_POLICIES),
          new Entry("stack", StackVariant.SUMMARY, StackVariant::new, ALL_POLICIES),
          new Entry("ms-queue", MsQueueVariant.SUMMARY, MsQueueVariant::new, ALL_POLICIES),
          new Entry("mpmc", MpmcVariant.SUMMARY, MpmcVariant::new, ALL_POLICIES),
          new Entry("synchronous", SynchronousVariant.SUMMARY, SynchronousVariant::new),
          new Entry("fork-join", ForkJoinVariant.SUMMARY, ForkJoinVariant::new, REJECT_OR_LATE),
          new Entry(
              "virtual-threads",
              VirtualThreadsVariant.SUMMARY,
              VirtualThreadsVariant::new,
              REJECT_OR_LATE),
          new Entry("sharded", ShardedVariant.SUMMARY, ShardedVariant::new, REJECT_OR_LATE),
          new Entry("priority", PriorityVariant.SUMMARY, PriorityVariant::new, REJECT_OR_LATE));

  private Variants() {}

  /** All of them, the default first. */
  public static List<Entry> all() {
    return ALL;
  }

  /** The variant of that name, if there is one. */
  public static Optional<Entry> find(String name) {
    return ALL.stream().filter(entry -> entry.name().equals(name)).findFirst();
  }
}
