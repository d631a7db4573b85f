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
   */
  public record Entry(String name, String summary, Function<VariantSettings, Variant> factory) {}

  private static final List<Entry> ALL =
      List.of(
          new Entry("sync", SyncVariant.SUMMARY, settings -> new SyncVariant()),
          new Entry("queue", QueueVariant.SUMMARY, QueueVariant::new),
          new Entry("array-queue", ArrayQueueVariant.SUMMARY, ArrayQueueVariant::new),
          new Entry("stack", StackVariant.SUMMARY, StackVariant::new),
          new Entry("ms-queue", MsQueueVariant.SUMMARY, MsQueueVariant::new),
          new Entry("mpmc", MpmcVariant.SUMMARY, MpmcVariant::new),
          new Entry("synchronous", SynchronousVariant.SUMMARY, SynchronousVariant::new),
          new Entry("fork-join", ForkJoinVariant.SUMMARY, ForkJoinVariant::new),
          new Entry("virtual-threads", VirtualThreadsVariant.SUMMARY, VirtualThreadsVariant::new),
          new Entry("sharded", ShardedVariant.SUMMARY, ShardedVariant::new),
          new Entry("priority", PriorityVariant.SUMMARY, PriorityVariant::new));

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
