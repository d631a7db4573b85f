package lsmlab.storage;

import java.util.SplittableRandom;
import java.util.TreeMap;
import lsmlab.storage.file.SimulatedDirectory;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.LongRange;

/** The engine against a sorted map, under random options, with other options after each reopening. */
class ModelTest {

  @Property(tries = 60)
  void behavesLikeASortedMap(
      @ForAll long seed,
      @ForAll Durability durability,
      @ForAll @IntRange(min = 1, max = 4) int reopens) {
    SplittableRandom random = new SplittableRandom(seed);
    SimulatedDirectory directory = new SimulatedDirectory();
    History history = new History(new TreeMap<>());
    for (int i = 0; i < reopens; i++) {
      try (Engine engine = LsmEngine.open(History.tinyOptions(random, durability), directory)) {
        history.checkNothingLost(engine);
        for (int step = 0; step < 120; step++) {
          history.step(engine, random);
        }
        engine.quiesce();
        history.checkNothingLost(engine);
      }
    }
  }

  /** The same writes leave the same pairs whatever the options are. */
  @Property(tries = 20)
  void optionsDoNotMatter(@ForAll @LongRange(min = 0, max = 1 << 20) long seed) {
    TreeMap<String, String> first = null;
    for (int i = 0; i < 3; i++) {
      LsmOptions options =
          History.tinyOptions(new SplittableRandom(seed * 31 + i), Durability.PROCESS);
      SimulatedDirectory directory = new SimulatedDirectory();
      SplittableRandom random = new SplittableRandom(seed);
      History history = new History(new TreeMap<>());
      try (Engine engine = LsmEngine.open(options, directory)) {
        for (int step = 0; step < 200; step++) {
          history.step(engine, random);
        }
        TreeMap<String, String> found = new TreeMap<>(History.contents(engine, ""));
        if (first == null) {
          first = found;
        } else if (!first.equals(found)) {
          throw new AssertionError(options + " gives another result");
        }
      }
    }
  }
}
