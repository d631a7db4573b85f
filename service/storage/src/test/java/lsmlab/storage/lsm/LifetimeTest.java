package lsmlab.storage.lsm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
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
import lsmlab.storage.manifest.Manifest;
import org.junit.jupiter.api.Test;

/**
 * Several lives of one store, each with other options. Each life opens the store, executes a few
 * operations or none, and ends by closing, by a kill or by a loss of power. Faults of the machine
 * begin and end at any file operation, also while the store is being opened, and may last longer
 * than a life.
 *
 * <p>The number of histories is the system property {@code lsmlab.lifetimes}; the first seed is
 * {@code lsmlab.lifetimes.first}. A failure names its seed, which determines everything except the
 * timing of background threads.
 */
class LifetimeTest {

  private static final int FIRST = Integer.getInteger("lsmlab.lifetimes.first", 0);
  private static final int SEEDS = Integer.getInteger("lsmlab.lifetimes", 200);
  private static final int LIVES = 8;
  private static final int KEYS = 30;
  private static final int SECTOR_BYTES = 512;

  /** A fault of the simulated machine. */
  private enum Fault {
    NO_SPACE(EnumSet.of(Operation.CREATE, Operation.WRITE, Operation.PAD)),
    NO_DESCRIPTORS(
        EnumSet.of(
            Operation.LOCK, Operation.LIST, Operation.CREATE, Operation.OPEN, Operation.MAP)),
    FAILED_SYNC(EnumSet.of(Operation.SYNC_FILE, Operation.SYNC_DIRECTORY)),
    /** Sectors of tables are read wrong. No operation fails. */
    DAMAGED_SECTOR(EnumSet.noneOf(Operation.class));

    private final Set<Operation> failing;

    Fault(Set<Operation> failing) {
      this.failing = failing;
    }
  }

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

  /** The faults of one history, over all its lives. Thread-safe. */
  private static final class Machine {
    private final SplittableRandom random;
    private boolean repaired;
    private Fault fault;
    private int begin;
    private int end;
    private int operation;
    private int crash = Integer.MAX_VALUE;

    /** Faults and failed operations since {@link #forget}. */
    private final Set<Fault> met = EnumSet.noneOf(Fault.class);

    private final Set<Operation> failed = EnumSet.noneOf(Operation.class);

    Machine(SplittableRandom random) {
      this.random = random;
      plan();
    }

    private void plan() {
      fault = Fault.values()[random.nextInt(Fault.values().length)];
      begin = operation + random.nextInt(1, 90);
      end = begin + (random.nextInt(3) == 0 ? random.nextInt(1, 60) : random.nextInt(1, 8));
    }

    /** Forgets the faults that were met. Lets the process die after the given operations. */
    synchronized void forget(int operationsToCrash) {
      met.clear();
      failed.clear();
      crash = operationsToCrash == Integer.MAX_VALUE ? crash : operation + operationsToCrash;
    }

    /** No fault occurs until the next life. */
    synchronized void repair(boolean is) {
      repaired = is;
      if (is && operation >= begin) {
        plan();
      }
    }

    void install(SimulatedDirectory directory) {
      crash = Integer.MAX_VALUE;
      directory.setFault((kind, name) -> before(directory, kind, name));
      directory.setReadFault(this::damage);
    }

    private synchronized void before(SimulatedDirectory directory, Operation kind, String name)
        throws IOException {
      if (++operation >= crash) {
        directory.freeze();
      }
      if (repaired) {
        return;
      }
      if (operation >= end) {
        plan();
      }
      if (operation >= begin && fault.failing.contains(kind)) {
        met.add(fault);
        failed.add(kind);
        throw new IOException("injected: " + fault + " " + kind + " " + name);
      }
    }

    /**
     * Damages one sector of a table. Spares the logs and the manifest: if a sector holds both a
     * record and the record of its sync, its damage may look like a torn end.
     */
    private synchronized void damage(String name, byte[] content) {
      boolean table = name.endsWith(".sst");
      if (repaired || operation < begin || fault != Fault.DAMAGED_SECTOR || !table) {
        return;
      }
      met.add(fault);
      int from = random.nextInt(content.length / SECTOR_BYTES + 1) * SECTOR_BYTES;
      for (int at = from; at < Math.min(content.length, from + SECTOR_BYTES); at++) {
        content[at] ^= (byte) random.nextInt(1, 256);
      }
    }
  }

  /** One history. */
  private static final class Run {
    private final SplittableRandom random;
    private final Machine machine;
    private SimulatedDirectory directory = new SimulatedDirectory();
    private final Writes writes = new Writes();

    Run(long seed) {
      random = new SplittableRandom(seed);
      machine = new Machine(random.split());
    }

    void run() throws IOException {
      for (int life = 0; life < LIVES; life++) {
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
            default -> write(engine, random.nextInt(KEYS));
          }
        } catch (ReadOnlyException e) {
          assertTrue(directory.isFrozen() || !machine.met.isEmpty(), e.toString());
        }
      }
    }

    private void write(Engine engine, int key) {
      String value = random.nextInt(4) == 0 ? null : value();
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
      return "v" + writes.values++ + "x".repeat(length);
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
          write(engine, 0);
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

  /** The writes since the store was opened, and what the store may hold after a restart. */
  private static final class Writes {
    private record Entry(String key, String value, boolean acknowledged) {}

    private Map<String, String> beginning = Map.of();
    private final List<Entry> entries = new ArrayList<>();
    private Durability durability = Durability.POWER;

    /** Number of writes that a loss of power must not take. */
    private int durable;

    private boolean powerLost;
    private int values;

    /** Begins a life with this content, which is durable. */
    void begin(Map<String, String> content, Durability newDurability) {
      beginning = content;
      entries.clear();
      durable = 0;
      durability = newDurability;
      powerLost = false;
    }

    int count() {
      return entries.size();
    }

    void add(int key, String value, boolean acknowledged) {
      entries.add(new Entry("key" + key, value, acknowledged));
    }

    void durable(int count) {
      durable = count;
    }

    void powerLost() {
      powerLost = true;
    }

    /** Checks a running store: it holds the acknowledged writes and no others. */
    void check(Engine engine) {
      Map<String, String> expected = new HashMap<>(beginning);
      entries.stream().filter(Entry::acknowledged).forEach(each -> apply(expected, each));
      assertEquals(expected, History.contents(engine, ""), "a running store");
    }

    private static void apply(Map<String, String> content, Entry write) {
      if (write.value == null) {
        content.remove(write.key);
      } else {
        content.put(write.key, write.value);
      }
    }

    /**
     * Checks a store that has just been opened: it holds what it held at some moment since it was
     * durable, and under {@code power} or without a loss of power at the last one. A write that
     * failed may be there or not.
     */
    void checkFirst(Engine engine) {
      Map<String, String> found = History.contents(engine, "");
      int earliest = powerLost && durability == Durability.PROCESS ? durable : entries.size();
      Map<String, String> sure = new HashMap<>(beginning);
      Map<String, Set<String>> unsure = new HashMap<>();
      for (int moment = 0; ; moment++) {
        if (moment >= earliest && isPossible(found, sure, unsure)) {
          return;
        }
        if (moment == entries.size()) {
          throw new AssertionError(
              "from write %d of %d on the store never held this: %s; expected %s and perhaps %s"
                  .formatted(earliest, moment, marks(found), marks(sure), unsure.keySet()));
        }
        Entry write = entries.get(moment);
        if (write.acknowledged) {
          apply(sure, write);
          unsure.remove(write.key);
        } else {
          unsure
              .computeIfAbsent(write.key, key -> new HashSet<>())
              .add(String.valueOf(write.value));
        }
      }
    }

    private static boolean isPossible(
        Map<String, String> found, Map<String, String> sure, Map<String, Set<String>> unsure) {
      for (int i = 0; i < KEYS; i++) {
        String key = "key" + i;
        String value = String.valueOf(found.get(key));
        if (!value.equals(String.valueOf(sure.get(key)))
            && !unsure.getOrDefault(key, Set.of()).contains(value)) {
          return false;
        }
      }
      return true;
    }

    private static Map<String, String> marks(Map<String, String> content) {
      Map<String, String> marks = new TreeMap<>();
      content.forEach((key, value) -> marks.put(key, value.replaceAll("x+$", "")));
      return marks;
    }
  }
}
