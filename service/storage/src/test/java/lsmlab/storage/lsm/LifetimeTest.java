package lsmlab.storage.lsm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.locks.LockSupport;
import lsmlab.storage.CorruptionException;
import lsmlab.storage.Durability;
import lsmlab.storage.Engine;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.OverloadedException;
import lsmlab.storage.ReadOnlyException;
import lsmlab.storage.WriteBatch;
import lsmlab.storage.file.SimulatedDirectory;
import lsmlab.storage.file.SimulatedDirectory.Operation;
import lsmlab.storage.lsm.FaultyMachine.Fault;
import lsmlab.storage.manifest.Manifest;
import org.junit.jupiter.api.Test;

/**
 * Several lives of one store, each with other options. Each life opens the store, executes a few
 * operations or none, and ends by closing, by a kill or by a loss of power. Faults of the machine
 * begin and end at any file operation, also while the store is being opened, and may last longer
 * than a life.
 *
 * <p>The number of histories is the system property {@code lsmlab.lifetimes}; the first seed is
 * {@code lsmlab.lifetimes.first}. A failure names its seed. It determines everything except the
 * timing of background threads, and with it the operation at which a fault begins.
 */
class LifetimeTest {

  private static final int FIRST = Integer.getInteger("lsmlab.lifetimes.first", 0);
  private static final int SEEDS = Integer.getInteger("lsmlab.lifetimes", 200);
  private static final int LIVES = 8;
  private static final int KEYS = 30;

  private enum End {
    CLOSE,
    KILL,
    POWER_LOSS
  }

  @Test
  void nothingIsLostAndNothingOldComesBack() {
    for (int seed = FIRST; seed < FIRST + SEEDS; seed++) {
      try {
        new Run(seed).run();
      } catch (IOException | RuntimeException | AssertionError e) {
        throw new AssertionError("seed " + seed + ": " + e, e);
      }
    }
  }

  /** One history. */
  private static final class Run {
    private final SplittableRandom seeds;

    /** Generator of the current life, so that no life's timing changes the later ones. */
    private SplittableRandom random;

    private final FaultyMachine machine;
    private SimulatedDirectory directory = new SimulatedDirectory();
    private final WriteHistory writes = new WriteHistory(KEYS);
    private int values;

    Run(long seed) {
      seeds = new SplittableRandom(seed);
      machine = new FaultyMachine(seeds.split());
    }

    void run() throws IOException {
      for (int life = 0; life < LIVES; life++) {
        random = seeds.split();
        machine.install(directory);
        machine.repair(false);
        live(life);
      }
      machine.install(directory);
      machine.repair(true);
      try (Engine engine = LsmEngine.open(options(), directory)) {
        writes.checkFirst(engine);
        engine.put(key(1), key(2));
      }
      StoreVerifier.verify(directory, file -> {});
    }

    private LsmOptions options() {
      return History.tinyOptions(random, Durability.values()[random.nextInt(2)]);
    }

    private void live(int life) throws IOException {
      LsmOptions options = options();
      End end = End.values()[random.nextInt(End.values().length)];
      boolean suddenly = end != End.CLOSE && random.nextInt(2) == 0;
      machine.forget(suddenly ? random.nextInt(1, 150) : Integer.MAX_VALUE);
      Engine engine = open(options);
      if (engine != null) {
        try {
          writes.checkFirst(engine);
          writes.begin(History.contents(engine, ""), options.durability());
          use(engine, random.nextInt(3) == 0 ? 0 : random.nextInt(40));
          if (random.nextInt(3) == 0) {
            checkRecovers(engine);
          }
        } catch (CorruptionException e) {
          assertTrue(machine.met.contains(Fault.DAMAGED_SECTOR), "life " + life + ": " + e);
        }
        end(engine, end);
      }
      assertEquals(List.of(), directory.inUse(), "files of a closed store");
      if (end == End.KILL) {
        directory = directory.afterKill();
      } else if (end == End.POWER_LOSS || random.nextInt(4) == 0) {
        directory = directory.losePower(random.split());
        writes.powerLost();
      }
    }

    /**
     * Opens the store. If a fault prevents that, checks that the store is unchanged, and opens it
     * without the fault. Returns null if the process died.
     */
    private Engine open(LsmOptions options) throws IOException {
      Map<String, byte[]> before = directory.contents();
      try {
        return LsmEngine.open(options, directory);
      } catch (CorruptionException e) {
        assertEquals(EnumSet.of(Fault.DAMAGED_SECTOR), machine.met, e.toString());
        checkUnchanged(before, e);
      } catch (UncheckedIOException e) {
        if (directory.isFrozen()) {
          return null;
        }
        assertTrue(e.getMessage().contains("injected"), e.toString());
        if (EnumSet.of(Operation.LOCK, Operation.LIST, Operation.MAP).containsAll(machine.failed)) {
          checkUnchanged(before, e);
        }
      }
      assertEquals(List.of(), directory.inUse(), "files of a store that was not opened");
      machine.repair(true);
      machine.forget(Integer.MAX_VALUE);
      try {
        return LsmEngine.open(options, directory);
      } catch (UncheckedIOException e) {
        assertTrue(directory.isFrozen(), e.toString());
        return null;
      }
    }

    private void checkUnchanged(Map<String, byte[]> before, RuntimeException why) {
      Map<String, byte[]> after = directory.contents();
      if (!before.containsKey(Manifest.NAME)) {
        return; // A new store may have been begun.
      }
      assertEquals(before.keySet(), after.keySet(), "a refused store: " + why);
      before.forEach(
          (name, content) ->
              assertTrue(
                  Arrays.equals(content, after.get(name)),
                  "a refused store: " + name + " changed: " + why));
    }

    private void use(Engine engine, int steps) {
      for (int i = 0; i < steps; i++) {
        try {
          switch (random.nextInt(16)) {
            case 0 -> {
              int before = writes.count();
              engine.flush();
              writes.durable(before);
            }
            case 1 -> engine.compact();
            case 2, 3 -> writes.check(engine);
            case 4, 5, 6 -> writeTogether(engine);
            default -> write(engine, random.nextInt(KEYS), random.nextInt(4) == 0 ? null : value());
          }
        } catch (ReadOnlyException e) {
          assertTrue(directory.isFrozen() || !machine.met.isEmpty(), e.toString());
        } catch (CorruptionException e) {
          assertTrue(machine.met.contains(Fault.DAMAGED_SECTOR), e.toString());
        }
      }
    }

    private void write(Engine engine, int key, String value) {
      try {
        if (value == null) {
          engine.delete(key(key));
        } else {
          engine.put(key(key), value.getBytes(StandardCharsets.UTF_8));
        }
        writes.add(key, value, true);
      } catch (ReadOnlyException e) {
        writes.add(key, value, false);
        throw e;
      } catch (OverloadedException e) {
        // The write was not begun.
      }
    }

    private void writeTogether(Engine engine) {
      int[] keys = random.ints(random.nextInt(1, 9), 0, KEYS).toArray();
      String[] values = new String[keys.length];
      WriteBatch batch = new WriteBatch();
      for (int i = 0; i < keys.length; i++) {
        values[i] = value();
        byte[] key = key(keys[i]);
        byte[] value = values[i].getBytes(StandardCharsets.UTF_8);
        batch.put(key, 0, key.length, value, 0, value.length);
      }
      engine.write(batch);
      for (int i = 0; i < keys.length; i++) {
        if (!(batch.failure(i) instanceof OverloadedException)) {
          writes.add(keys[i], values[i], batch.failure(i) == null);
        }
      }
    }

    private String value() {
      int length = random.nextInt(30) == 0 ? random.nextInt(6_000) : random.nextInt(200);
      return "v" + values++ + "x".repeat(length);
    }

    private static byte[] key(int number) {
      return ("key" + number).getBytes(StandardCharsets.UTF_8);
    }

    /** After faults that are not final, a running store accepts writes again. */
    private void checkRecovers(Engine engine) {
      machine.repair(true);
      if (machine.met.contains(Fault.FAILED_SYNC) || machine.met.contains(Fault.DAMAGED_SECTOR)) {
        return;
      }
      for (int tries = 1; ; tries++) {
        try {
          engine.flush();
          write(engine, 0, "recovered");
          return;
        } catch (ReadOnlyException e) {
          if (directory.isFrozen()) {
            return;
          }
          // A background thread may still report a failure that occurred before the repair.
          assertTrue(tries < 1_000, "the fault " + machine.met + " is over, but: " + e);
          LockSupport.parkNanos(1_000_000);
        }
      }
    }

    private void end(Engine engine, End end) {
      if (end != End.CLOSE) {
        directory.freeze();
      }
      try {
        engine.close();
        if (end == End.CLOSE && machine.met.isEmpty()) {
          writes.durable(writes.count());
        }
      } catch (UncheckedIOException e) {
        assertTrue(e.getMessage().contains("closing the store failed"), e.getMessage());
      }
    }
  }
}
