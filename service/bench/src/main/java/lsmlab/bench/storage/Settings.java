package lsmlab.bench.storage;

import java.nio.file.Path;

/**
 * Settings of a fork, the same for all engines of a run. Passed to the fork as JSON.
 *
 * @param pairs number of keys
 * @param valueBytes mean bytes of a value
 * @param seed of the keys' order and of the values
 * @param seconds length of one measured interval
 * @param warmupSeconds length of one warm-up
 * @param overwriteBytes bytes of keys and values that the sustained overwrite writes
 * @param replayBytes bytes of keys and values in the WAL that is replayed
 * @param stores directory of the stores
 */
public record Settings(
    int pairs,
    int valueBytes,
    long seed,
    int seconds,
    int warmupSeconds,
    long overwriteBytes,
    long replayBytes,
    Path stores) {

  /** Returns the same settings with another number of keys. */
  public Settings withPairs(int number) {
    return new Settings(
        number, valueBytes, seed, seconds, warmupSeconds, overwriteBytes, replayBytes, stores);
  }

  Pairs makePairs() {
    return new Pairs(pairs, valueBytes, seed);
  }

  /**
   * Returns the directory of the engine's loaded store, which is created once and never written to.
   */
  public Path base(String engine) {
    return stores.resolve(engine + "-" + pairs + "x" + valueBytes + "-" + seed);
  }

  /** Returns the directory of a store for one measurement, which is deleted afterwards. */
  public Path scratch(String engine) {
    return stores.resolve("scratch-" + engine);
  }
}
