package lsmlab.storage;

import java.util.List;
import java.util.Optional;

/**
 * The engines by name: what a configuration's {@code engine:} may say. Another engine is one class and one line here.
 */
public final class Engines {

  /** Opens an engine. One that keeps nothing on disk takes no notice of the options. */
  @FunctionalInterface
  public interface Factory {
    Engine open(LsmOptions options);
  }

  /**
   * @param name as a configuration names it
   * @param summary one line for a listing
   * @param persistent whether pairs outlive the process
   */
  public record Entry(String name, String summary, boolean persistent, Factory factory) {}

  private static final List<Entry> ALL =
      List.of(
          new Entry(
              "lsm",
              "log-structured merge tree: WAL, memtables, SSTables, compaction",
              true,
              LsmEngine::open),
          new Entry(
              "memory",
              "a concurrent skip list in the heap; nothing is kept after the process ends",
              false,
              options -> new MemoryEngine()),
          new Entry(
              "null",
              "stores nothing and finds nothing: what a request costs without storage",
              false,
              options -> new NullEngine()));

  private Engines() {}

  /** All of them, the default first. */
  public static List<Entry> all() {
    return ALL;
  }

  /** The engine of that name, if there is one. */
  public static Optional<Entry> find(String name) {
    return ALL.stream().filter(entry -> entry.name().equals(name)).findFirst();
  }
}
