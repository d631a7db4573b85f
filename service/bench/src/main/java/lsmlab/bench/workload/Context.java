package lsmlab.bench.workload;

import java.nio.file.Path;
import lsmlab.bench.Pairs;
import lsmlab.bench.Settings;
import lsmlab.peers.MvStoreEngine;
import lsmlab.peers.PeerEngines;
import lsmlab.peers.RocksEngine;
import lsmlab.storage.Durability;
import lsmlab.storage.Engine;
import lsmlab.storage.LsmOptions;

/**
 * What a workload works with.
 *
 * @param engine name of the engine
 */
public record Context(String engine, Settings settings, Pairs pairs) {

  /** Opens the engine on a store; everything but directory and durability is its default. */
  public Engine open(Path directory, Durability durability) {
    return open(LsmOptions.builder(directory).durability(durability).build());
  }

  /** Opens the engine with these options. */
  public Engine open(LsmOptions options) {
    return PeerEngines.find(engine).orElseThrow().factory().open(options);
  }

  /** Opens the engine for a load that nobody is waiting for. */
  Engine openForLoading(Path directory) {
    LsmOptions options = LsmOptions.builder(directory).stallMillisMax(600_000).build();
    return engine.equals("mvstore") ? MvStoreEngine.openForLoading(options) : open(options);
  }

  /** Does what the process needs to do once before its first store, and an open need not be charged for. */
  void prepareProcess() {
    if (engine.equals("rocksdb")) {
      RocksEngine.loadLibrary();
    }
  }
}
