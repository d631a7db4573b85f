package lsmlab.storage.lsm;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import lsmlab.storage.CompactionStrategy;
import lsmlab.storage.CorruptionException;
import lsmlab.storage.Durability;
import lsmlab.storage.Engine;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.ReadOnlyException;
import lsmlab.storage.file.SimulatedDirectory;
import lsmlab.storage.file.SimulatedDirectory.Operation;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The preallocated log file: over a crash, over errors, and when the store is closed. */
class WalPreallocatorTest {

  private final SimulatedDirectory directory = new SimulatedDirectory();

  private static LsmOptions options(Durability durability) {
    return LsmOptions.builder(Path.of("unused"))
        .durability(durability)
        .compaction(CompactionStrategy.OFF)
        .build();
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static void put(Engine engine, String key, String value) {
    engine.put(bytes(key), bytes(value));
  }

  /** Makes a store with pairs in a table and in the current log, and with a preallocated log. */
  private LsmEngine withLogAhead(Durability durability) {
    LsmEngine engine = LsmEngine.open(options(durability), directory);
    put(engine, "flushed", "1");
    engine.flush();
    put(engine, "logged", "2");
    put(engine, "last", "3");
    assertEquals(1, emptyLogs(directory).size(), "logs made ahead");
    return engine;
  }

  private static List<String> emptyLogs(SimulatedDirectory directory) {
    return directory.names(".wal").stream()
        .filter(name -> directory.content(name).length == 0)
        .toList();
  }

  private static void check(Engine engine) {
    assertArrayEquals(bytes("1"), engine.get(bytes("flushed")));
    assertArrayEquals(bytes("2"), engine.get(bytes("logged")));
    assertArrayEquals(bytes("3"), engine.get(bytes("last")));
  }

  @ParameterizedTest
  @EnumSource(value = Durability.class, names = "NONE", mode = EnumSource.Mode.EXCLUDE)
  void afterACrashThePreallocatedLogIsDeletedAndNothingIsLost(Durability durability)
      throws IOException {
    LsmEngine died = withLogAhead(durability);
    String ahead = emptyLogs(directory).getFirst();
    SplittableRandom random = new SplittableRandom(7);
    for (int i = 0; i < 20; i++) {
      boolean power = durability == Durability.POWER && i > 0;
      SimulatedDirectory left = power ? directory.losePower(random) : directory.afterKill();
      try (Engine engine = LsmEngine.open(options(durability), left)) {
        assertFalse(left.names(".wal").contains(ahead), ahead + " is still there");
        check(engine);
        put(engine, "more", "4");
        engine.flush();
        check(engine);
      }
      assertEquals(1, left.names(".wal").size());
      StoreVerifier.verify(left, file -> {});
    }
    died.close();
  }

  /**
   * The first log after the restart records the length of the last log with content, however many
   * logs were preallocated.
   */
  @Test
  void afterACrashTheLengthOfTheLogBeforeItIsStillKnown() {
    LsmEngine died = withLogAhead(Durability.POWER);
    SimulatedDirectory left = directory.afterKill();
    died.close();
    String log = left.names(".wal").getFirst();
    left.setFault(
        (operation, name) -> {
          if (operation == Operation.CREATE && name.endsWith(".sst")) {
            throw new IOException("No space left on device, so that the log stays");
          }
        });
    LsmEngine.open(options(Durability.POWER), left).close();
    assertTrue(left.names(".wal").contains(log), "the log is needed as long as it is not flushed");
    byte[] content = left.content(log);
    for (int back = 1; back < 20; back++) {
      byte[] cut = Arrays.copyOf(content, content.length - back);
      byte[] changed = content.clone();
      changed[changed.length - back] ^= 1;
      for (byte[] damaged : List.of(cut, changed)) {
        SimulatedDirectory copy = left.afterKill();
        copy.replace(log, damaged);
        CorruptionException e =
            assertThrows(
                CorruptionException.class,
                () -> LsmEngine.open(options(Durability.POWER), copy).close(),
                "byte " + back + " from the end");
        assertTrue(e.getMessage().contains(log) && e.getMessage().contains("offset"), e.toString());
        assertEquals(List.of(), copy.inUse(), "what was opened before it was refused");
      }
    }
  }

  @Test
  void closingTheStoreDeletesAnUnusedLog() {
    withLogAhead(Durability.PROCESS).close();
    assertEquals(1, directory.names(".wal").size());
    assertEquals(List.of(), emptyLogs(directory));
    assertEquals(List.of(), directory.inUse());
  }

  @Test
  void aFileThatCouldNotBePreallocatedIsCreatedWhenItIsNeeded() {
    AtomicInteger failures = new AtomicInteger();
    directory.setFault(
        (operation, name) -> {
          boolean ahead = Thread.currentThread().getName().startsWith("lsmlab-flush");
          if (ahead && operation == Operation.CREATE && name.endsWith(".wal")) {
            failures.incrementAndGet();
            throw new IOException("No space left on device");
          }
        });
    try (Engine engine = LsmEngine.open(options(Durability.POWER), directory)) {
      for (int i = 0; i < 5; i++) {
        put(engine, "key" + i, "value");
        engine.flush();
        assertEquals(List.of(), emptyLogs(directory));
      }
      assertEquals(5, engine.stats().tables());
    }
    assertEquals(5, failures.get());
  }

  @Test
  void whileNoLogCanBeCreatedWritesContinueInTheCurrentOne() {
    boolean[] full = new boolean[1];
    LsmOptions options =
        LsmOptions.builder(Path.of("unused")).flushThresholdBytes(2_000).stallMillisMax(10).build();
    directory.setFault(
        (operation, name) -> {
          if (full[0] && operation == Operation.CREATE) {
            throw new IOException("No space left on device");
          }
        });
    try (Engine engine = LsmEngine.open(options, directory)) {
      full[0] = true;
      for (int i = 0; i < 10; i++) {
        put(engine, "key" + i, "x".repeat(500));
      }
      assertEquals(0, engine.stats().memtablesSealed());
      assertTrue(engine.stats().memtableBytes() > 5_000, "one memtable holds it all");
      ReadOnlyException e = assertThrows(ReadOnlyException.class, engine::flush);
      assertTrue(e.getMessage().contains("No space left"), e.getMessage());
      full[0] = false;
      put(engine, "key10", "there is room again");
      engine.flush();
      assertTrue(engine.stats().tables() > 0);
    }
    try (Engine engine = LsmEngine.open(options, directory)) {
      for (int i = 0; i < 11; i++) {
        assertTrue(engine.get(bytes("key" + i)) != null, "key" + i);
      }
    }
  }

  /**
   * An error that is not an I/O error is an internal one: it ends writing, and nobody waits for a
   * flush that will never happen.
   */
  @Test
  void anInternalErrorWhilePreallocatingEndsWriting() {
    directory.setFault(
        (operation, name) -> {
          boolean ahead = Thread.currentThread().getName().startsWith("lsmlab-flush");
          if (ahead && operation == Operation.CREATE && name.endsWith(".wal")) {
            throw new IllegalStateException("injected");
          }
        });
    try (Engine engine = LsmEngine.open(options(Durability.POWER), directory)) {
      put(engine, "key", "value");
      ReadOnlyException e = assertThrows(ReadOnlyException.class, engine::flush);
      assertTrue(e.getMessage().contains("internal error"), e.getMessage());
      assertThrows(ReadOnlyException.class, () -> put(engine, "more", "value"));
      assertArrayEquals(bytes("value"), engine.get(bytes("key")));
    }
    directory.setFault((operation, name) -> {});
    try (Engine engine = LsmEngine.open(options(Durability.POWER), directory)) {
      assertArrayEquals(bytes("value"), engine.get(bytes("key")));
      assertNull(engine.get(bytes("more")));
    }
  }

  /** A failure to delete the log must not turn the final failure into a passing one. */
  @Test
  void aFailedSyncOfANewLogIsFinalEvenIfTheLogCannotBeDeleted() {
    AtomicInteger left = new AtomicInteger();
    directory.setFault(
        (operation, name) -> {
          boolean sync = operation == Operation.SYNC_DIRECTORY;
          boolean removal = operation == Operation.DELETE && name.endsWith(".wal");
          if ((sync || removal) && left.get() > 0) {
            left.decrementAndGet();
            throw new IOException("device error");
          }
        });
    Engine engine = LsmEngine.open(options(Durability.POWER), directory);
    put(engine, "key", "value");
    left.set(2);
    assertThrows(ReadOnlyException.class, engine::flush);
    assertEquals(0, left.get(), "both have failed");
    ReadOnlyException e =
        assertThrows(ReadOnlyException.class, () -> put(engine, "key", "a second try that lies"));
    assertTrue(e.getMessage().contains("sync of"), e.getMessage());
    assertArrayEquals(bytes("value"), engine.get(bytes("key")));
    engine.close();
    try (Engine reopened = LsmEngine.open(options(Durability.POWER), directory)) {
      assertArrayEquals(bytes("value"), reopened.get(bytes("key")));
    }
  }
}
