package lsmlab.storage.engines;

import java.util.List;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.stream.Stream;
import lsmlab.storage.Engine;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.lsm.LsmEngine;

/**
 * The engines by name: what a configuration's {@code engine:} may say. Another engine is one class and one line here, or
 * a jar on the class path with a {@link Provider}.
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
   * @param loader opens it for loading many pairs: there a write is kept only once a later {@link Engine#flush} or
   *     {@link Engine#close} has returned
   */
  public record Entry(
      String name, String summary, boolean persistent, Factory factory, Factory loader) {

    /** One whose writes are as fast when each is kept at once. */
    public Entry(String name, String summary, boolean persistent, Factory factory) {
      this(name, summary, persistent, factory, factory);
    }
  }

  /** Adds engines from another jar, which names this in {@code META-INF/services/lsmlab.storage.engines.Engines$Provider}. */
  public interface Provider {
    /** The engines, in the order of a listing. No name may be one of another engine. */
    List<Entry> engines();
  }

  private static final List<Entry> OWN =
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

  /** All of them, the default first. */
  public static List<Entry> all() {
    return ALL;
  }

  /** The engine of that name, if there is one. */
  public static Optional<Entry> find(String name) {
    return ALL.stream().filter(entry -> entry.name().equals(name)).findFirst();
  }
}
