package lsmlab.peers;

import java.util.List;
import java.util.Optional;
import lsmlab.storage.Keeps;
import lsmlab.storage.engines.Engines;

/**
 * The peers by name. {@link Engines} lists them after the lab's own engines if this jar is on the
 * class path.
 */
public final class PeerEngines implements Engines.Provider {

  private static final List<Engines.Entry> ALL =
      List.of(
          new Engines.Entry(
              "rocksdb",
              "RocksDB through its JNI binding: the LSM tree most others are measured against",
              Keeps.KILLED,
              RocksEngine::open),
          new Engines.Entry(
              "rocksdb-tuned",
              "RocksDB with the options and the JNI calls that an expert would choose",
              Keeps.KILLED,
              TunedRocksEngine::open),
          new Engines.Entry(
              "mvstore",
              "H2's MVStore: a copy-on-write B-tree in Java, without a log",
              Keeps.KILLED,
              MvStoreEngine::open,
              MvStoreEngine::openForLoading));

  /** For the service loader. */
  public PeerEngines() {}

  /** Returns the peers only. */
  @Override
  public List<Engines.Entry> engines() {
    return ALL;
  }

  /** Returns the engine of this name, which is the lab's own or a peer. */
  public static Optional<Engines.Entry> find(String name) {
    return Engines.find(name);
  }
}
