package lsmlab.storage.lsm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
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
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Repeats one scenario, in which the first, second, third … file operation fails, until none fails.
 */
class ErrorInjectionTest {

  private static final int WRITES = 60;
  private static final String ABSENT = "absent";
  private static final Set<Operation> TAKES_SPACE =
      EnumSet.of(Operation.CREATE, Operation.WRITE, Operation.PAD);

  /**
   * The values that each key may have: the last acknowledged one, and those of later writes that
   * failed.
   */
  private final Map<String, Set<String>> allowed = new HashMap<>();

  private static LsmOptions options(Durability durability) {
    return LsmOptions.builder(Path.of("unused"))
        .durability(durability)
        .flushThresholdBytes(1_500)
        .memtablesMax(2)
        .blockBytes(200)
        .tableBytes(1_500)
        .stallMillisMax(20)
        .build();
  }

  @ParameterizedTest
  @EnumSource(value = Durability.class, names = "NONE", mode = EnumSource.Mode.EXCLUDE)
  void everySingleFailureIsSurvived(Durability durability) throws IOException {
    boolean failed = true;
    for (int n = 1; failed; n++) {
      AtomicInteger count = new AtomicInteger();
      int failing = n;
      failed = run(durability, "operation " + n, at -> at == failing, count);
      assertTrue(n < 5_000, "the scenario does not end");
    }
  }

  @ParameterizedTest
  @EnumSource(value = Durability.class, names = "NONE", mode = EnumSource.Mode.EXCLUDE)
  void everyLastingFailureIsSurvived(Durability durability) throws IOException {
    boolean failed = true;
    for (int n = 1; failed; n += 3) {
      AtomicInteger count = new AtomicInteger();
      int failing = n;
      failed = run(durability, "from operation " + n, at -> at >= failing, count);
      assertTrue(n < 5_000, "the scenario does not end");
    }
  }

  /** A second failure in the reaction to a first one: taking back a partial write, or a retry. */
  @ParameterizedTest
  @EnumSource(value = Durability.class, names = "NONE", mode = EnumSource.Mode.EXCLUDE)
  void everyTwoFailuresInARowAreSurvived(Durability durability) throws IOException {
    boolean failed = true;
    for (int n = 1; failed; n++) {
      AtomicInteger count = new AtomicInteger();
      int failing = n;
      failed =
          run(
              durability,
              "operations " + n + " and " + (n + 1),
              at -> at == failing || at == failing + 1,
              count);
      assertTrue(n < 5_000, "the scenario does not end");
    }
  }

  @Test
  void theScenarioContainsEveryKindOfOperation() throws IOException {
    Set<Operation> met = EnumSet.noneOf(Operation.class);
    SimulatedDirectory directory = new SimulatedDirectory();
    int[] writes = new int[1];
    directory.setFault(
        (operation, name) -> {
          synchronized (met) {
            met.add(operation);
            if (operation == Operation.WRITE && name.endsWith(".wal") && ++writes[0] == 5) {
              throw new IOException("injected, so that half a write is taken back");
            }
          }
        });
    for (int i = 0; i < 2; i++) {
      scenario(LsmEngine.open(options(Durability.POWER), directory));
    }
    assertEquals(EnumSet.allOf(Operation.class), met);
  }

  /**
   * The disk becomes full at the N-th operation, and has space again at the end of the scenario.
   */
  @ParameterizedTest
  @EnumSource(value = Durability.class, names = "NONE", mode = EnumSource.Mode.EXCLUDE)
  void aFullDiskIsSurvivedWithoutARestart(Durability durability)
      throws IOException, InterruptedException {
    boolean met = true;
    for (int n = 1; met; n += 4) {
      met = fillAt(n, durability);
      assertTrue(n < 5_000, "the scenario does not end");
    }
  }

  private boolean fillAt(int n, Durability durability) throws IOException, InterruptedException {
    SimulatedDirectory directory = new SimulatedDirectory();
    AtomicInteger count = new AtomicInteger();
    boolean[] met = new boolean[1];
    allowed.clear();
    Engine engine = LsmEngine.open(options(durability), directory);
    directory.setFault(
        (operation, name) -> {
          boolean full = count.incrementAndGet() >= n;
          if (full && TAKES_SPACE.contains(operation)) {
            met[0] = true;
            throw new IOException("No space left on device");
          }
        });
    for (int i = 0; i < WRITES; i++) {
      put(engine, "key" + i % 17, "value" + i + "x".repeat(i * 7 % 90));
    }
    check(engine);
    directory.setFault((operation, name) -> {});
    String after = "there is space again";
    Set<String> kept = Set.of(after);
    for (int tries = 0; !kept.equals(allowed.get("key1")); tries++) {
      assertTrue(tries < 6_000, "full from operation " + n + " on: no write is taken afterwards");
      put(engine, "key1", after);
      Thread.sleep(tries == 0 ? 0 : 10);
    }
    check(engine);
    awaitSuccess(engine::flush);
    awaitSuccess(engine::compact);
    check(engine);
    engine.close();
    String when = "full from operation " + n + " on";
    assertEquals(List.of(), directory.inUse(), when);
    int tables = Manifest.read(directory).tables().size();
    assertEquals(tables, directory.names(".sst").size(), when + ": tables that nothing names");
    assertEquals(1, directory.names(".wal").size(), when + ": " + directory.names(".wal"));
    try (Engine reopened = LsmEngine.open(options(durability), directory)) {
      check(reopened);
    }
    StoreVerifier.verify(directory, file -> {});
    return met[0];
  }

  /**
   * Retries the action, because a failure for lack of space is reported until a retry of the engine
   * succeeds.
   */
  private static void awaitSuccess(Runnable action) throws InterruptedException {
    for (int tries = 0; ; tries++) {
      try {
        action.run();
        return;
      } catch (ReadOnlyException e) {
        assertTrue(tries < 12_000, "it still fails: " + e);
        Thread.sleep(5);
      }
    }
  }

  private interface Chooser {
    boolean fails(int operation);
  }

  /** Returns whether a failure occurred. */
  private boolean run(Durability durability, String what, Chooser chooser, AtomicInteger count)
      throws IOException {
    SimulatedDirectory directory = new SimulatedDirectory();
    boolean[] met = new boolean[1];
    directory.setFault(
        (operation, name) -> {
          if (chooser.fails(count.incrementAndGet())) {
            met[0] = true;
            throw new IOException("injected: " + operation + " " + name);
          }
        });
    allowed.clear();
    try {
      scenario(LsmEngine.open(options(durability), directory));
    } catch (UncheckedIOException e) {
      assertTrue(e.getMessage().contains("cannot open the store"), e.getMessage());
    }
    assertEquals(List.of(), directory.inUse(), what);
    directory.setFault((operation, name) -> {});
    try (Engine engine = LsmEngine.open(options(durability), directory)) {
      check(engine);
      put(engine, "key1", "after");
      engine.flush();
      engine.compact();
      check(engine);
    } catch (RuntimeException | AssertionError e) {
      throw new AssertionError(what + ": " + e, e);
    }
    StoreVerifier.verify(directory, file -> {});
    return met[0];
  }

  private void scenario(LsmEngine engine) {
    try {
      for (int i = 0; i < WRITES; i++) {
        put(engine, "key" + i % 17, "value" + i + "x".repeat(i * 7 % 90));
        if (i % 5 == 4) {
          putTogether(engine, i);
        }
        if (i % 23 == 22) {
          tolerate(engine::flush);
        }
        if (i == 40) {
          tolerate(engine::compact);
        }
      }
      check(engine);
    } finally {
      tolerate(engine::close);
    }
  }

  private static void tolerate(Runnable action) {
    try {
      action.run();
    } catch (ReadOnlyException e) {
      assertTrue(e.getMessage().contains("the store accepts no writes"), e.getMessage());
    } catch (UncheckedIOException e) {
      assertTrue(e.getMessage().contains("closing the store failed"), e.getMessage());
    }
  }

  private void put(Engine engine, String key, String value) {
    try {
      engine.put(key.getBytes(StandardCharsets.UTF_8), value.getBytes(StandardCharsets.UTF_8));
      allowed.put(key, new HashSet<>(Set.of(value)));
    } catch (ReadOnlyException e) {
      allowed.computeIfAbsent(key, absent -> new HashSet<>(Set.of(ABSENT))).add(value);
    } catch (OverloadedException e) {
      assertTrue(e.getMessage().contains("writes are held back"), e.getMessage());
    }
  }

  /** Commits three writes as a batch. Each is acknowledged or fails on its own. */
  private void putTogether(Engine engine, int round) {
    WriteBatch batch = new WriteBatch();
    for (int n = 0; n < 3; n++) {
      byte[] value = ("together" + round + "x".repeat(n * 40)).getBytes(StandardCharsets.UTF_8);
      byte[] key = ("key" + (round + n) % 17).getBytes(StandardCharsets.UTF_8);
      batch.put(key, 0, key.length, value, 0, value.length);
    }
    engine.write(batch);
    for (int n = 0; n < 3; n++) {
      String value = "together" + round + "x".repeat(n * 40);
      String key = "key" + (round + n) % 17;
      Throwable failure = batch.failure(n);
      if (failure == null) {
        allowed.put(key, new HashSet<>(Set.of(value)));
      } else if (failure instanceof ReadOnlyException) {
        allowed.computeIfAbsent(key, absent -> new HashSet<>(Set.of(ABSENT))).add(value);
      } else {
        assertTrue(failure instanceof OverloadedException, failure.toString());
      }
    }
  }

  private void check(Engine engine) {
    for (int i = 0; i < 17; i++) {
      String key = "key" + i;
      byte[] found = engine.get(key.getBytes(StandardCharsets.UTF_8));
      String value = found == null ? ABSENT : new String(found, StandardCharsets.UTF_8);
      Set<String> expected = allowed.getOrDefault(key, Set.of(ABSENT));
      assertTrue(expected.contains(value), key + " is " + value + ", allowed are " + expected);
    }
  }

  @Test
  void aFailedSyncEndsWritesButNotReads() {
    SimulatedDirectory directory = new SimulatedDirectory();
    Engine engine = LsmEngine.open(options(Durability.POWER), directory);
    put(engine, "key1", "one");
    boolean[] broken = {true};
    directory.setFault(
        (operation, name) -> {
          if (broken[0] && operation == Operation.SYNC_FILE) {
            throw new IOException("device error");
          }
        });
    put(engine, "key2", "two");
    assertTrue(allowed.get("key2").contains(ABSENT), "the write was not acknowledged");
    broken[0] = false;
    put(engine, "key3", "three");
    assertTrue(allowed.get("key3").contains(ABSENT), "a second try does not lie");
    check(engine);
    engine.close();
    try (Engine reopened = LsmEngine.open(options(Durability.POWER), directory)) {
      put(reopened, "key4", "four");
      assertTrue(allowed.get("key4").equals(Set.of("four")));
      check(reopened);
    }
  }

  @Test
  void aFullDeviceHoldsWritesBackUntilThereIsSpace() throws InterruptedException {
    SimulatedDirectory directory = new SimulatedDirectory();
    boolean[] full = {false};
    directory.setFault(
        (operation, name) -> {
          if (full[0] && TAKES_SPACE.contains(operation)) {
            throw new IOException("No space left on device");
          }
        });
    try (Engine engine = LsmEngine.open(options(Durability.PROCESS), directory)) {
      for (int round = 0; round < 3; round++) {
        put(engine, "key1", "before" + round);
        full[0] = true;
        put(engine, "key2", "full" + round);
        assertTrue(allowed.get("key2").size() > 1, "not acknowledged");
        check(engine);
        full[0] = false;
        put(engine, "key2", "space" + round);
        assertTrue(allowed.get("key2").equals(Set.of("space" + round)));
        check(engine);
      }
    }
    try (Engine engine = LsmEngine.open(options(Durability.PROCESS), directory)) {
      check(engine);
    }
  }
}
