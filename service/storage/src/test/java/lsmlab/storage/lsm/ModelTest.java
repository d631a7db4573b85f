package lsmlab.storage.lsm;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.NavigableMap;
import java.util.SplittableRandom;
import java.util.TreeMap;
import lsmlab.storage.Durability;
import lsmlab.storage.Engine;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.file.SimulatedDirectory;
import org.junit.jupiter.api.Test;

/**
 * Compares the engine with a sorted map, under random options. The number of seeds is the system
 * property {@code lsmlab.models}. A failure names its seed.
 */
class ModelTest {

  private static final int SEEDS = Integer.getInteger("lsmlab.models", 60);

  @FunctionalInterface
  private interface Seeded {
    void run(SplittableRandom random, long seed);
  }

  private static void forEachSeed(Seeded test) {
    for (long seed = 0; seed < SEEDS; seed++) {
      try {
        test.run(new SplittableRandom(seed), seed);
      } catch (RuntimeException | AssertionError e) {
        throw new AssertionError("seed " + seed + ": " + e, e);
      }
    }
  }

  /** The options change each time the store is opened. */
  @Test
  void behavesLikeASortedMap() {
    forEachSeed(
        (random, seed) -> {
          Durability durability = Durability.values()[random.nextInt(2)];
          SimulatedDirectory directory = new SimulatedDirectory();
          History history = new History(new TreeMap<>());
          int reopens = random.nextInt(1, 5);
          for (int i = 0; i < reopens; i++) {
            LsmOptions options = History.tinyOptions(random, durability);
            try (Engine engine = LsmEngine.open(options, directory)) {
              history.checkNothingLost(engine);
              for (int step = 0; step < 120; step++) {
                history.step(engine, random);
              }
              engine.quiesce();
              history.checkNothingLost(engine);
            }
          }
        });
  }

  /** The same writes leave the same pairs under all options. */
  @Test
  void optionsDoNotMatter() {
    forEachSeed(
        (options, seed) -> {
          NavigableMap<String, String> first = null;
          for (int i = 0; i < 3; i++) {
            LsmOptions tiny = History.tinyOptions(options, Durability.PROCESS);
            SplittableRandom random = new SplittableRandom(~seed);
            History history = new History(new TreeMap<>());
            try (Engine engine = LsmEngine.open(tiny, new SimulatedDirectory())) {
              for (int step = 0; step < 200; step++) {
                history.step(engine, random);
              }
              NavigableMap<String, String> found = History.contents(engine, "");
              first = first == null ? found : first;
              assertEquals(first, found, tiny.toString());
            }
          }
        });
  }
}
