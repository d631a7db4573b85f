package lsmlab.peers;

import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import lsmlab.storage.Engines;

/** The peers by name, in the form in which {@link Engines} lists the lab's own engines. */
public final class PeerEngines {

  private static final List<Engines.Entry> ALL =
      List.of(
          new Engines.Entry(
              "rocksdb",
              "RocksDB through its JNI binding: the LSM tree most others are measured against",
              true,
              RocksEngine::open),
          new Engines.Entry(
              "mvstore",
              "H2's MVStore: a copy-on-write B-tree in Java, without a log",
              true,
              MvStoreEngine::open));

  private PeerEngines() {}

  /** The peers alone. */
  public static List<Engines.Entry> all() {
    return ALL;
  }

  /** The engine of that name, the lab's own or a peer. */
  public static Optional<Engines.Entry> find(String name) {
    return Stream.concat(Engines.all().stream(), ALL.stream())
        .filter(entry -> entry.name().equals(name))
        .findFirst();
  }
}
