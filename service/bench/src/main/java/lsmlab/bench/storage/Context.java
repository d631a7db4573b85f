package lsmlab.bench.storage;

import java.nio.file.Path;
import lsmlab.peers.PeerEngines;
import lsmlab.peers.RocksEngine;
import lsmlab.storage.Durability;
import lsmlab.storage.Engine;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.engines.Engines;

/**
 * The engine, the settings and the pairs of a workload.
 *
 * @param engine name of the engine
 */
record Context(String engine, Settings settings, Pairs pairs) {

  private Engines.Entry entry() {
    return PeerEngines.find(engine).orElseThrow();
  }

  /** Returns the directory of the loaded store, see {@link Settings#base}. */
  Path base() {
    return settings.base(engine);
  }

  /** Returns the directory of the store to write to, see {@link Settings#scratch}. */
  Path scratch() {
    return settings.scratch(engine);
  }

  /** Opens a store with default options, except for directory and durability. */
  Engine open(Path directory, Durability durability) {
    return open(LsmOptions.builder(directory).durability(durability).build());
  }

  Engine open(LsmOptions options) {
    return entry().factory().open(options);
  }

  /** Opens the loaded store to fill it, with a long limit for waits for flushes. */
  Engine openForLoading() {
    return entry().loader().open(LsmOptions.builder(base()).stallMillisMax(600_000).build());
  }

  /** Loads RocksDB's native library, so that the first open does not include that time. */
  void prepareProcess() {
    if (engine.startsWith("rocksdb")) {
      RocksEngine.loadLibrary();
    }
  }
}
