package lsmlab.storage.engines;

import java.util.List;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.stream.Stream;
import lsmlab.storage.Engine;
import lsmlab.storage.Keeps;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.lsm.LsmEngine;
import lsmlab.storage.textbook.TextbookEngine;

/**
 * The engines by the name that a configuration gives as {@code engine:}. To add an engine, write
 * one class and one line here, or put a jar with a {@link Provider} on the class path.
 */
public final class Engines {

  /** Opens an engine. An engine that has no files ignores the options. */
  @FunctionalInterface
  public interface Factory {
    Engine open(LsmOptions options);
  }

  /**
   * @param name name of the engine in a configuration
   * @param summary one line for the list of engines
   * @param keeps what acknowledged writes survive
   * @param loader opens the engine for loading many pairs; a write is then durable only after a
   *     later {@link Engine#flush} or {@link Engine#close}
   */
  public record Entry(String name, String summary, Keeps keeps, Factory factory, Factory loader) {

    /** Makes the entry of an engine that has no special mode for loading many pairs. */
    public Entry(String name, String summary, Keeps keeps, Factory factory) {
      this(name, summary, keeps, factory, factory);
    }

    /** Whether pairs outlive a process that stops cleanly. */
    public boolean persistent() {
      return keeps != Keeps.NOTHING;
    }
  }

  /**
   * Adds engines from another jar, which names its provider in {@code
   * META-INF/services/lsmlab.storage.engines.Engines$Provider}.
   */
  public interface Provider {
    /** Returns the engines in the order of the list. Names must be unique. */
    List<Entry> engines();
  }

  private static final List<Entry> OWN =
      List.of(
          new Entry(
              "lsm",
              "log-structured merge tree: WAL (durability: none has none and keeps closed), SSTables, compaction",
              Keeps.KILLED,
              LsmEngine::open),
          new Entry(
              "memory",
              "a concurrent skip list in the heap; nothing outlives the process",
              Keeps.NOTHING,
              options -> new MemoryEngine()),
          new Entry(
              "null",
              "stores nothing and finds nothing: what a request costs without storage",
              Keeps.NOTHING,
              options -> new NullEngine()),
          new Entry(
              TextbookEngine.NAME,
              "the teaching engine: an LSM tree without WAL, blocks and cache; a kill loses writes",
              Keeps.CLOSED,
              TextbookEngine::open,
              TextbookEngine::openForLoading));

  private static final List<Entry> ALL = withProvided();

  private Engines() {}

  private static List<Entry> withProvided() {
    ServiceLoader<Provider> providers =
        ServiceLoader.load(Provider.class, Engines.class.getClassLoader());
    List<Entry> all =
        Stream.concat(
                OWN.stream(),
                providers.stream().flatMap(provider -> provider.get().engines().stream()))
            .toList();
    if (all.stream().map(Entry::name).distinct().count() < all.size()) {
      throw new IllegalStateException(
          "two engines have one name: " + all.stream().map(Entry::name).toList());
    }
    return all;
  }

  /** Returns all engines, the default first. */
  public static List<Entry> all() {
    return ALL;
  }

  /** Returns the engine of this name, if there is one. */
  public static Optional<Entry> find(String name) {
    return ALL.stream().filter(entry -> entry.name().equals(name)).findFirst();
  }
}
