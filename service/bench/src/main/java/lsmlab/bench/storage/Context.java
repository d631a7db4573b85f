package lsmlab.bench.storage;

import java.nio.file.Path;
import lsmlab.peers.PeerEngines;
import lsmlab.peers.RocksEngine;
import lsmlab.storage.Durability;
import lsmlab.storage.Engine;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.engines.Engines;

/**
 * What a workload works with.
 *
 * @param engine name of the engine
 */
record Context(String engine, Settings settings, Pairs pairs) {

  private Engines.Entry entry() {
    return PeerEngines.find(engine).orElseThrow();
  }

  /** The loaded store, see {@link Settings#base}. */
  Path base() {
    return settings.base(engine);
  }

  /** The store to write to, see {@link Settings#scratch}. */
  Path scratch() {
    return settings.scratch(engine);
  }

  /** Opens a store; everything but directory and durability is its default. */
  Engine open(Path directory, Durability durability) {
    return open(LsmOptions.builder(directory).durability(durability).build());
  }

  Engine open(LsmOptions options) {
    return entry().factory().open(options);
  }

  /** Opens the loaded store for a load that may wait long for flushes. */
  Engine openForLoading() {
    return entry().loader().open(LsmOptions.builder(base()).stallMillisMax(600_000).build());
  }

  /** Loads RocksDB's native library, so that its loading is not charged to the first open. */
  void prepareProcess() {
    if (engine.startsWith("rocksdb")) {
      RocksEngine.loadLibrary();
    }
  }
}
