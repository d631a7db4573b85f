package lsmlab.storage.lsm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.random.RandomGenerator;
import lsmlab.storage.Durability;
import lsmlab.storage.Engine;
import lsmlab.storage.ReadOnlyException;
import lsmlab.storage.file.SimulatedDirectory;
import lsmlab.storage.file.SimulatedDirectory.SyncFilter;
import org.junit.jupiter.api.Test;

/**
 * Random operations, a crash at a random file operation, and a restart with what is left, repeated
 * several times. The number of seeds is the system property {@code lsmlab.crash.seeds}; the first
 * one is {@code lsmlab.crash.first}. A failure names its seed, which determines everything except
 * the timing of background threads.
 */
class CrashTest {

  private static final int FIRST = Integer.getInteger("lsmlab.crash.first", 0);
  private static final int SEEDS = Integer.getInteger("lsmlab.crash.seeds", 200);
  private static final int CRASHES = 3;

  private enum Crash {
    KILL,
    POWER_LOSS
  }

  /** The operation that is repeated until the crash. */
  private interface Step {
    void take(History history, Engine engine, RandomGenerator random);
  }

  @Test
  void withPowerDurabilityALossOfPowerLosesNothing() {
    run(Durability.POWER, Crash.POWER_LOSS, SEEDS, name -> true);
  }

  @Test
  void withProcessDurabilityAKillLosesNothing() {
    run(Durability.PROCESS, Crash.KILL, SEEDS, name -> true);
  }

  @Test
  void withProcessDurabilityALossOfPowerLosesOnlyTheLatestWrites() {
    run(Durability.PROCESS, Crash.POWER_LOSS, SEEDS, name -> true);
  }

  @Test
  void batchesSurviveALossOfPower() {
    run(Durability.POWER, Crash.POWER_LOSS, SEEDS, name -> true, History::stepTogether);
  }

  @Test
  void aMissingSyncOfTheLogIsFound() {
    mustBeFound(name -> !name.endsWith(".wal"), History::step);
  }

  @Test
  void aMissingSyncOfTheLogIsFoundWithBatches() {
    mustBeFound(name -> !name.endsWith(".wal"), History::stepTogether);
  }

  @Test
  void aMissingSyncOfTablesIsFound() {
    mustBeFound(name -> !name.endsWith(".sst"), History::step);
  }

  @Test
  void aMissingSyncOfTheManifestIsFound() {
    mustBeFound(name -> !name.startsWith("MANIFEST"), History::step);
  }

  @Test
  void aMissingSyncOfTheDirectoryIsFound() {
    mustBeFound(name -> !name.isEmpty(), History::step);
  }

  /** Checks the test itself: it must fail if a sync is left out. */
  private static void mustBeFound(SyncFilter planted, Step step) {
    try {
      run(Durability.POWER, Crash.POWER_LOSS, 1_000, planted, step);
    } catch (AssertionError e) {
      return;
    }
    fail("1000 seeds did not find the missing sync");
  }

  private static void run(Durability durability, Crash crash, int seeds, SyncFilter syncs) {
    run(durability, crash, seeds, syncs, History::step);
  }

  private static void run(
      Durability durability, Crash crash, int seeds, SyncFilter syncs, Step step) {
    for (int seed = FIRST; seed < FIRST + seeds; seed++) {
      try {
        new Run(seed, durability, crash, syncs, step).run();
      } catch (IOException | RuntimeException | AssertionError e) {
        throw new AssertionError("seed " + seed + ": " + e, e);
      }
    }
  }

  private static final class Run {
    private final SplittableRandom random;
    private final Durability durability;
    private final Crash crash;
    private final SyncFilter syncs;
    private final Step step;

    Run(long seed, Durability durability, Crash crash, SyncFilter syncs, Step step) {
      this.random = new SplittableRandom(seed);
      this.durability = durability;
      this.crash = crash;
      this.syncs = syncs;
      this.step = step;
    }

    void run() throws IOException {
      SimulatedDirectory directory = new SimulatedDirectory();
      History history = new History(new TreeMap<>());
      for (int i = 0; i < CRASHES; i++) {
        directory.setSyncFilter(syncs);
        crashAfter(directory, random.nextInt(1, 250));
        useUntilItDies(directory, history);
        directory =
            crash == Crash.KILL ? directory.afterKill() : directory.losePower(random.split());
        history = checkAndContinue(directory, history);
      }
    }

    private void crashAfter(SimulatedDirectory directory, int operations) {
      AtomicLong left = new AtomicLong(operations);
      directory.setFault(
          (operation, name) -> {
            if (left.decrementAndGet() == 0) {
              directory.freeze();
            }
          });
    }

    private void useUntilItDies(SimulatedDirectory directory, History history) {
      LsmEngine engine;
      try {
        engine = LsmEngine.open(History.tinyOptions(random, durability), directory);
      } catch (UncheckedIOException e) {
        return;
      }
      try {
        for (int i = 0; i < 300; i++) {
          step.take(history, engine, random);
        }
        directory.freeze();
      } catch (ReadOnlyException | UncheckedIOException e) {
        directory.freeze();
      } finally {
        try {
          engine.close();
        } catch (UncheckedIOException e) {
          assertTrue(e.getMessage().contains("dead"), e.getMessage());
        }
        assertEquals(List.of(), directory.inUse(), "a store that was closed");
      }
    }

    private History checkAndContinue(SimulatedDirectory directory, History history)
        throws IOException {
      try (LsmEngine engine = LsmEngine.open(History.tinyOptions(random, durability), directory)) {
        if (crash == Crash.KILL || durability == Durability.POWER) {
          history.checkNothingLost(engine);
        } else {
          history.checkIsOneMoment(engine);
        }
        History next = new History(History.contents(engine, ""));
        next.allDurable();
        return next;
      } finally {
        StoreVerifier.verify(directory, file -> {});
        directory.close();
      }
    }
  }
}
