package lsmlab.bench;

import java.nio.file.Path;

/**
 * What a fork is told: the same for every engine of a run. Travels to the fork as JSON.
 *
 * @param pairs number of keys
 * @param valueBytes mean bytes of a value
 * @param seed of keys' order and values
 * @param seconds length of one measured interval
 * @param warmupSeconds length of one warm-up
 * @param overwriteSeconds length of the sustained overwrite
 * @param overwriteThreads its writers
 * @param replayBytes bytes of pairs in the WAL that is replayed
 * @param stores directory of the stores
 */
public record Settings(
    int pairs,
    int valueBytes,
    long seed,
    int seconds,
    int warmupSeconds,
    int overwriteSeconds,
    int overwriteThreads,
    long replayBytes,
    Path stores) {

  /** The same with another number of keys. */
  Settings withPairs(int number) {
    return new Settings(
        number,
        valueBytes,
        seed,
        seconds,
        warmupSeconds,
        overwriteSeconds,
        overwriteThreads,
        replayBytes,
        stores);
  }

  Pairs makePairs() {
    return new Pairs(pairs, valueBytes, seed);
  }

  /** The engine's loaded store, made once and only read from. */
  public Path base(String engine) {
    return stores.resolve(engine + "-" + pairs + "x" + valueBytes + "-" + seed);
  }

  /** A store that one measurement may write to, gone afterwards. */
  public Path scratch(String engine) {
    return stores.resolve("scratch-" + engine);
  }
}
