package lsmlab.storage.lsm;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import lsmlab.storage.Durability;
import lsmlab.storage.Engine;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.ReadOnlyException;
import lsmlab.storage.Scan;
import lsmlab.storage.ScanEndedException;
import lsmlab.storage.WriteBatch;
import lsmlab.storage.file.SimulatedDirectory;
import lsmlab.storage.lsm.RegisterChecker.Operation;
import org.junit.jupiter.api.Test;

/**
 * Several threads write, delete, read and scan a few keys, while memtables are sealed and flushed
 * and tables are merged. The history of each key must be linearizable, even over a crash and a
 * restart, and each scan must show one moment. The number of histories is the system property
 * {@code lsmlab.histories}.
 */
class LinearizabilityTest {

  private static final int HISTORIES = Integer.getInteger("lsmlab.histories", 150);
  private static final int THREADS = 4;
  private static final int KEYS = 4;
  private static final int OPERATIONS = 80;

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  /** Operations of all threads, by key. */
  private static final class Recording {
    private final Map<String, List<Operation>> byKey = new HashMap<>();
    private int scans;
    private int scansEnded;

    synchronized void countScan(boolean whole) {
      scans++;
      scansEnded += whole ? 0 : 1;
    }

    synchronized void add(String key, Operation operation) {
      byKey.computeIfAbsent(key, absent -> new ArrayList<>()).add(operation);
    }

    synchronized void check(String what) {
      byKey.forEach(
          (key, history) ->
              assertTrue(
                  RegisterChecker.isLinearizable(history),
                  () -> what + ": " + key + " has no order: " + history));
    }
  }

  /** The work of one thread. */
  private static final class Client implements Runnable {
    private final Engine engine;
    private final Recording recording;
    private final SplittableRandom random;
    private final String name;
    private final AtomicReference<Throwable> failure;

    Client(
        Engine engine,
        Recording recording,
        SplittableRandom random,
        String name,
        AtomicReference<Throwable> failure) {
      this.engine = engine;
      this.recording = recording;
      this.random = random;
      this.name = name;
      this.failure = failure;
    }

    @Override
    public void run() {
      try {
        for (int i = 0; i < OPERATIONS; i++) {
          step(i);
        }
      } catch (ReadOnlyException e) {
        // The power is gone: what was under way is recorded as pending.
      } catch (Throwable e) {
        failure.compareAndSet(null, e);
      }
    }

    private void step(int i) {
      String key = "key" + random.nextInt(KEYS);
      switch (random.nextInt(10)) {
        case 0, 1, 2 -> read(engine, recording, key);
        case 3 -> scan(engine, recording, random.nextInt(20) == 0);
        case 4 -> write(key, null);
        case 5 -> writeTogether(i);
        default -> write(key, name + "-" + i + "-" + "x".repeat(random.nextInt(120)));
      }
    }

    private void write(String key, String value) {
      long called = System.nanoTime();
      long returned = RegisterChecker.NEVER;
      try {
        if (value == null) {
          engine.delete(bytes(key));
        } else {
          engine.put(bytes(key), bytes(value));
        }
        returned = System.nanoTime();
      } finally {
        recording.add(key, new Operation(true, value, called, returned));
      }
    }

    /**
     * Commits a batch, maybe with several writes of one key. Each write takes as long as the whole
     * batch.
     */
    private void writeTogether(int i) {
      WriteBatch batch = new WriteBatch();
      List<String> keys = new ArrayList<>();
      List<String> values = new ArrayList<>();
      for (int n = random.nextInt(1, 5); n > 0; n--) {
        byte[] key = bytes("key" + random.nextInt(KEYS));
        String value = name + "-" + i + "-" + n + "x".repeat(random.nextInt(120));
        keys.add(new String(key, US_ASCII));
        values.add(value);
        batch.put(key, 0, key.length, bytes(value), 0, value.length());
      }
      long called = System.nanoTime();
      engine.write(batch);
      long returned = System.nanoTime();
      RuntimeException failure = null;
      for (int n = 0; n < batch.size(); n++) {
        boolean done = batch.failure(n) == null;
        long ended = done ? returned : RegisterChecker.NEVER;
        recording.add(keys.get(n), new Operation(true, values.get(n), called, ended));
        failure = done ? failure : (RuntimeException) batch.failure(n);
      }
      if (failure != null) {
        throw failure;
      }
    }
  }

  private static void read(Engine engine, Recording recording, String key) {
    long called = System.nanoTime();
    byte[] found = engine.get(bytes(key));
    String value = found == null ? null : new String(found, StandardCharsets.UTF_8);
    recording.add(key, new Operation(false, value, called, System.nanoTime()));
  }

  /**
   * A scan reads every key as it was when the scan began. If the engine ends it early, only the keys
   * up to the last one returned are known.
   */
  private static void scan(Engine engine, Recording recording, boolean slowly) {
    long called = System.nanoTime();
    long begun;
    boolean whole;
    NavigableMap<String, String> found = new TreeMap<>();
    try (Scan scan = engine.scan(bytes("key"), null)) {
      begun = System.nanoTime();
      whole = readWhole(scan, found, slowly);
    }
    recording.countScan(whole);
    for (int i = 0; i < KEYS; i++) {
      String key = "key" + i;
      if (whole || (!found.isEmpty() && key.compareTo(found.lastKey()) <= 0)) {
        recording.add(key, new Operation(false, found.get(key), called, begun));
      }
    }
  }

  /** Returns false if the engine ended the scan because it was read too slowly. */
  private static boolean readWhole(Scan scan, Map<String, String> found, boolean slowly) {
    try {
      while (scan.next()) {
        found.put(
            new String(scan.key().toArray(ValueLayout.JAVA_BYTE), StandardCharsets.UTF_8),
            new String(scan.value().toArray(ValueLayout.JAVA_BYTE), StandardCharsets.UTF_8));
        if (slowly) {
          scan.pause();
          LockSupport.parkNanos(1_000_000);
        }
      }
      return true;
    } catch (ScanEndedException e) {
      return false;
    }
  }

  @Test
  void theHistoryOfEachKeyIsLinearizable() throws Exception {
    int scans = 0;
    int scansEnded = 0;
    for (int seed = 0; seed < HISTORIES; seed++) {
      Recording recording = history(seed, seed % 2 == 1);
      scans += recording.scans;
      scansEnded += recording.scansEnded;
    }
    String counts = scansEnded + " of " + scans + " scans were ended by the engine";
    assertTrue(scansEnded > 0 && scansEnded < scans / 2, counts);
  }

  private static Recording history(int seed, boolean crash)
      throws IOException, InterruptedException {
    SplittableRandom random = new SplittableRandom(seed);
    Durability durability = crash ? Durability.POWER : Durability.values()[seed / 2 % 2];
    SimulatedDirectory directory = new SimulatedDirectory();
    Recording recording = new Recording();
    AtomicReference<Throwable> failure = new AtomicReference<>();
    try (Engine engine = LsmEngine.open(History.tinyOptions(random, durability), directory)) {
      if (crash) {
        AtomicLong left = new AtomicLong(random.nextInt(1, 300));
        directory.setFault(
            (operation, name) -> {
              if (left.decrementAndGet() == 0) {
                directory.freeze();
              }
            });
      }
      runAll(clients(engine, recording, random, failure));
    } catch (UncheckedIOException e) {
      assertTrue(crash && e.getMessage().contains("dead"), "seed " + seed + ": " + e);
    }
    if (failure.get() != null) {
      throw new AssertionError("seed " + seed + ": " + failure.get(), failure.get());
    }
    SimulatedDirectory after = crash ? directory.losePower(random) : directory.afterKill();
    try (Engine engine = LsmEngine.open(History.tinyOptions(random, durability), after)) {
      scan(engine, recording, false);
      for (int i = 0; i < KEYS; i++) {
        read(engine, recording, "key" + i);
      }
    }
    recording.check("seed " + seed);
    return recording;
  }

  private static List<Runnable> clients(
      Engine engine,
      Recording recording,
      SplittableRandom random,
      AtomicReference<Throwable> failure) {
    List<Runnable> clients = new ArrayList<>();
    for (int i = 0; i < THREADS; i++) {
      clients.add(new Client(engine, recording, random.split(), "c" + i, failure));
    }
    return clients;
  }

  private static void runAll(List<Runnable> tasks) throws InterruptedException {
    List<Thread> threads = tasks.stream().map(Thread.ofPlatform()::start).toList();
    for (Thread thread : threads) {
      thread.join();
    }
  }

  /**
   * One writer writes a round number to each key in turn. So each moment shows at most two rounds,
   * the newer one first.
   */
  @Test
  void aScanShowsOneMoment() throws InterruptedException {
    int rounds = 20 * HISTORIES;
    LsmOptions options = History.tinyOptions(new SplittableRandom(1), Durability.PROCESS);
    AtomicBoolean done = new AtomicBoolean();
    AtomicReference<Throwable> failure = new AtomicReference<>();
    try (Engine engine = LsmEngine.open(options, new SimulatedDirectory())) {
      Runnable writer =
          () -> {
            try {
              for (int round = 1; round <= rounds; round++) {
                for (int key = 0; key < KEYS; key++) {
                  engine.put(bytes("key" + key), bytes(round + "-".repeat(round % 50)));
                }
              }
            } catch (Throwable e) {
              failure.compareAndSet(null, e);
            } finally {
              done.set(true);
            }
          };
      Runnable reader =
          () -> {
            try {
              while (!done.get()) {
                try {
                  checkOneMoment(History.contents(engine, ""));
                } catch (ScanEndedException e) {
                  // The older of two scans keeps more than a store this small allows: it is read
                  // again.
                }
              }
            } catch (Throwable e) {
              failure.compareAndSet(null, e);
            }
          };
      runAll(List.of(writer, reader, reader));
      checkOneMoment(History.contents(engine, ""));
    }
    if (failure.get() != null) {
      throw new AssertionError(failure.get());
    }
  }

  /**
   * Writes of several threads are committed in groups. A lookup may see one before the whole group
   * is in the memtable.
   */
  @Test
  void aScanIsNotOlderThanAnEarlierLookup() throws InterruptedException {
    int lookUps = 100 * HISTORIES;
    AtomicBoolean done = new AtomicBoolean();
    AtomicReference<Throwable> failure = new AtomicReference<>();
    try (Engine engine =
        LsmEngine.open(
            LsmOptions.builder(java.nio.file.Path.of("unused"))
                .flushThresholdBytes(200_000)
                .stallMillisMax(60_000)
                .build(),
            new SimulatedDirectory())) {
      List<Runnable> tasks = new ArrayList<>();
      for (int i = 0; i < THREADS; i++) {
        byte[] key = bytes("key" + i);
        tasks.add(
            () -> {
              for (long count = 1; !done.get(); count++) {
                engine.put(key, bytes(Long.toString(count)));
              }
            });
      }
      tasks.add(
          () -> {
            try {
              for (int i = 0; i < lookUps; i++) {
                String key = "key" + i % THREADS;
                byte[] seen = engine.get(bytes(key));
                long atLeast = seen == null ? 0 : Long.parseLong(new String(seen, US_ASCII));
                long scanned = Long.parseLong(History.contents(engine, key).getOrDefault(key, "0"));
                assertTrue(scanned >= atLeast, key + ": " + atLeast + ", then " + scanned);
              }
            } catch (Throwable e) {
              failure.set(e);
            } finally {
              done.set(true);
            }
          });
      runAll(tasks);
    }
    if (failure.get() != null) {
      throw new AssertionError(failure.get());
    }
  }

  private static void checkOneMoment(NavigableMap<String, String> found) {
    int previous = -1;
    int first = -1;
    for (int key = 0; key < KEYS; key++) {
      String value = found.getOrDefault("key" + key, "0");
      int round = Integer.parseInt(value.substring(0, (value + "-").indexOf('-')));
      first = key == 0 ? round : first;
      assertTrue(previous < 0 || round <= previous, "an older round first: " + found);
      assertTrue(round >= first - 1, "more than two rounds: " + found);
      previous = round;
    }
  }
}
