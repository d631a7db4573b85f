package lsmlab.storage.lsm;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import lsmlab.storage.CompactionStrategy;
import lsmlab.storage.Durability;
import lsmlab.storage.Engine;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.Scan;
import lsmlab.storage.ScanEndedException;
import lsmlab.storage.file.MappedFiles;
import lsmlab.storage.file.OsStoreDirectory;
import lsmlab.storage.file.SimulatedDirectory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests the promises of an engine, on a real directory. Long because each promise of {@link LsmEngine} has its case here;
 * faults of the disk, damage and crashes have classes of their own.
 */
class LsmEngineTest {

  @TempDir Path directory;

  private LsmOptions.Builder tiny() {
    return LsmOptions.builder(directory)
        .flushThresholdBytes(4096)
        .blockBytes(256)
        .tableBytes(4096)
        .stallMillisMax(60_000);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }

  private static void put(Engine engine, String key, String value) {
    engine.put(bytes(key), bytes(value));
  }

  private static String get(Engine engine, String key) {
    byte[] value = engine.get(bytes(key));
    return value == null ? null : new String(value, UTF_8);
  }

  private static List<String> scan(Engine engine, String from, String to) {
    List<String> pairs = new ArrayList<>();
    try (Scan scan = engine.scan(bytes(from), to == null ? null : bytes(to))) {
      while (scan.next()) {
        pairs.add(
            new String(scan.key().toArray(ValueLayout.JAVA_BYTE), UTF_8)
                + "="
                + new String(scan.value().toArray(ValueLayout.JAVA_BYTE), UTF_8));
      }
    }
    return pairs;
  }

  /** Reads again if ended: the older of two scans keeps more than a store this small allows. */
  private static List<String> wholeScan(Engine engine, String from, String to) {
    while (true) {
      try {
        return scan(engine, from, to);
      } catch (ScanEndedException e) {
        Thread.onSpinWait();
      }
    }
  }

  @ParameterizedTest
  @EnumSource(Durability.class)
  void writtenPairsSurviveAReopen(Durability durability) {
    LsmOptions options = tiny().durability(durability).build();
    try (Engine engine = LsmEngine.open(options)) {
      put(engine, "a", "1");
      put(engine, "b", "2");
      put(engine, "a", "3");
      engine.delete(bytes("b"));
      put(engine, "empty", "");
      assertEquals("3", get(engine, "a"));
      assertNull(get(engine, "b"));
      assertEquals("", get(engine, "empty"));
      assertNull(get(engine, "c"));
      // Under process only the first log of a start is synced, once.
      assertEquals(durability == Durability.POWER, engine.stats().walSyncs() > 1);
    }
    try (Engine engine = LsmEngine.open(options)) {
      assertEquals(List.of("a=3", "empty="), scan(engine, "a", null));
    }
  }

  @Test
  void withoutAWalACleanStopKeepsAllAndAKillOnlyTables() {
    LsmOptions options = LsmOptions.builder(Path.of("unused")).durability(Durability.NONE).build();
    SimulatedDirectory simulated = new SimulatedDirectory();
    SimulatedDirectory killed;
    try (Engine engine = LsmEngine.open(options, simulated)) {
      put(engine, "a", "1");
      engine.flush();
      long logged = engine.stats().walBytes();
      put(engine, "b", "2");
      assertEquals("2", get(engine, "b"));
      assertEquals(logged, engine.stats().walBytes());
      killed = simulated.afterKill();
    }
    try (Engine engine = LsmEngine.open(options, killed)) {
      assertEquals(List.of("a=1"), scan(engine, "a", null));
    }
    try (Engine engine = LsmEngine.open(options, simulated)) {
      assertEquals(List.of("a=1", "b=2"), scan(engine, "a", null));
    }
  }

  @Test
  void withoutAWalAStopOnAFullDiskSaysSo() {
    SimulatedDirectory simulated = new SimulatedDirectory();
    Engine engine =
        LsmEngine.open(
            LsmOptions.builder(Path.of("unused")).durability(Durability.NONE).build(), simulated);
    put(engine, "a", "1");
    simulated.setFault(
        (operation, name) -> {
          if (name.endsWith(".sst")) {
            throw new IOException("No space left on device");
          }
        });
    IllegalStateException e = assertThrows(IllegalStateException.class, engine::close);
    assertTrue(e.getCause().getMessage().contains("No space left"), e.toString());
    assertEquals(List.of(), simulated.inUse());
  }

  @Test
  void readsTheNewestOfMemtablesAndTables() {
    try (Engine engine = LsmEngine.open(tiny().compaction(CompactionStrategy.OFF).build())) {
      for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 200; i++) {
          put(engine, "key" + i, "value" + i + "-" + round);
        }
        engine.flush();
      }
      engine.delete(bytes("key7"));
      assertTrue(engine.stats().tables() >= 5);
      assertEquals("value3-4", get(engine, "key3"));
      assertNull(get(engine, "key7"));
      engine.flush();
      assertNull(get(engine, "key7"));
      engine.compact();
      assertNull(get(engine, "key7"));
      assertEquals("value199-4", get(engine, "key199"));
      assertEquals(199, scan(engine, "key", "kez").size());
    }
  }

  @Test
  void compactLeavesOneRunWithoutTombstones() {
    try (Engine engine = LsmEngine.open(tiny().build())) {
      for (int i = 0; i < 100; i++) {
        put(engine, "key" + i, "value");
        engine.delete(bytes("key" + i));
      }
      put(engine, "last", "one");
      engine.flush();
      engine.compact();
      assertEquals(1, engine.stats().tables());
      assertEquals(List.of("last=one"), scan(engine, "a", null));
      engine.delete(bytes("last"));
      engine.flush();
      engine.compact();
      assertEquals(0, engine.stats().tables());
      assertEquals(List.of(), scan(engine, "a", null));
    }
  }

  @Test
  void filesOfCompactedTablesAreDeletedOnceNobodyReadsThem() throws IOException {
    try (Engine engine = LsmEngine.open(tiny().build())) {
      for (int i = 0; i < 300; i++) {
        put(engine, "key%03d".formatted(i), "value" + i);
      }
      engine.flush();
      engine.quiesce();
      try (Scan scan = engine.scan(bytes("key"), null)) {
        assertTrue(scan.next());
        for (int i = 0; i < 300; i++) {
          put(engine, "key%03d".formatted(i), "other" + i);
        }
        engine.flush();
        engine.compact();
        for (int i = 0; i < 300; i++) {
          assertEquals("value" + i, new String(scan.value().toArray(ValueLayout.JAVA_BYTE), UTF_8));
          assertEquals(i < 299, scan.next());
        }
      }
      engine.quiesce();
    }
    try (Engine engine = LsmEngine.open(tiny().build());
        var files = Files.list(directory)) {
      long tables = files.filter(file -> file.toString().endsWith(".sst")).count();
      assertEquals(engine.stats().tables(), tables);
    }
  }

  @Test
  void aScanShowsOneMoment() {
    try (Engine engine = LsmEngine.open(tiny().build())) {
      put(engine, "a", "1");
      put(engine, "b", "1");
      try (Scan scan = engine.scan(bytes("a"), null)) {
        put(engine, "a", "2");
        put(engine, "aa", "2");
        engine.delete(bytes("b"));
        engine.flush();
        List<String> seen = new ArrayList<>();
        while (scan.next()) {
          seen.add(
              new String(scan.key().toArray(ValueLayout.JAVA_BYTE), UTF_8)
                  + new String(scan.value().toArray(ValueLayout.JAVA_BYTE), UTF_8));
        }
        assertEquals(List.of("a1", "b1"), seen);
      }
      assertEquals(List.of("a=2", "aa=2"), scan(engine, "a", null));
      assertEquals(List.of("a=2"), scan(engine, "a", "aa"));
      assertEquals(List.of(), scan(engine, "b", "a"));
    }
  }

  /**
   * If the tables exceed half of the memory, the kernel reads no pages around missing ones. Nothing
   * else changes.
   */
  @ParameterizedTest
  @ValueSource(longs = {1, Long.MAX_VALUE})
  void tablesBeyondTheMemoryAreReadAtRandom(long memoryBytes)
      throws IOException, InterruptedException {
    LsmOptions options = tiny().compaction(CompactionStrategy.OFF).build();
    for (int reopen = 0; reopen < 2; reopen++) {
      try (Engine engine =
          LsmEngine.open(options, new OsStoreDirectory(directory), () -> memoryBytes)) {
        for (int i = 0; i < 2_000; i += 2) {
          put(engine, "key%04d".formatted(i), "value" + i);
        }
        engine.flush();
        checkEvenKeys(engine);
        awaitReadAtRandom(memoryBytes == 1);
        engine.compact();
        checkEvenKeys(engine);
        awaitReadAtRandom(memoryBytes == 1);
      }
    }
  }

  private static void checkEvenKeys(Engine engine) {
    for (int i = 0; i < 2_000; i++) {
      assertEquals(i % 2 == 0 ? "value" + i : null, get(engine, "key%04d".formatted(i)));
    }
    assertEquals(1_000, scan(engine, "key", null).size());
    assertEquals(List.of("key0770=value770"), scan(engine, "key0769", "key0772"));
  }

  /** Waits, because a thread of the engine advises the kernel shortly after a table can be read. */
  private void awaitReadAtRandom(boolean expected) throws IOException, InterruptedException {
    boolean told = !MappedFiles.areKnown();
    for (int tries = 0; !told; tries++) {
      Map<Path, Boolean> tables = MappedFiles.readAtRandom(directory);
      told = tables.size() > 1 && tables.values().stream().allMatch(each -> each == expected);
      assertTrue(tries < 6_000, "read at random: " + tables);
      Thread.sleep(told ? 0 : 10);
    }
  }

  @Test
  void keepsLargeValuesAndKeys() {
    byte[] key = new byte[Engine.KEY_BYTES_MAX];
    byte[] value = new byte[5 << 20];
    for (int i = 0; i < value.length; i++) {
      value[i] = (byte) (i * 31);
    }
    LsmOptions options = LsmOptions.of(directory);
    try (Engine engine = LsmEngine.open(options)) {
      engine.put(key, value);
      engine.put(bytes("k"), new byte[100_000]);
      assertArrayEquals(value, engine.get(key));
    }
    try (Engine engine = LsmEngine.open(options)) {
      assertArrayEquals(value, engine.get(key));
      engine.flush();
      assertArrayEquals(value, engine.get(key));
      assertArrayEquals(new byte[100_000], engine.get(bytes("k")));
    }
  }

  @Test
  void refusesKeysOutOfRange() {
    try (Engine engine = LsmEngine.open(LsmOptions.of(directory))) {
      assertThrows(IllegalArgumentException.class, () -> engine.put(new byte[0], new byte[1]));
      assertThrows(
          IllegalArgumentException.class, () -> engine.get(new byte[Engine.KEY_BYTES_MAX + 1]));
      assertThrows(
          IndexOutOfBoundsException.class, () -> engine.put(new byte[4], 2, 3, new byte[1], 0, 1));
    }
  }

  @Test
  void aStoreCannotBeOpenedTwice() {
    try (Engine engine = LsmEngine.open(LsmOptions.of(directory))) {
      put(engine, "a", "1");
      UncheckedIOException e =
          assertThrows(UncheckedIOException.class, () -> LsmEngine.open(LsmOptions.of(directory)));
      assertTrue(e.getMessage().contains("open elsewhere"), e.getMessage());
    }
    try (Engine engine = LsmEngine.open(LsmOptions.of(directory))) {
      assertEquals("1", get(engine, "a"));
    }
  }

  @Test
  void aClosedStoreReportsThatItIsClosed() {
    Engine engine = LsmEngine.open(LsmOptions.of(directory));
    engine.close();
    engine.close();
    assertThrows(IllegalStateException.class, () -> put(engine, "a", "1"));
    assertThrows(IllegalStateException.class, () -> get(engine, "a"));
  }

  @ParameterizedTest
  @EnumSource(Durability.class)
  void anInterruptedWriterHarmsNobody(Durability durability) throws InterruptedException {
    LsmOptions options = tiny().durability(durability).build();
    int writes = durability == Durability.POWER ? 500 : 2_000;
    AtomicReference<Throwable> failure = new AtomicReference<>();
    AtomicReference<Integer> written = new AtomicReference<>(0);
    try (Engine engine = LsmEngine.open(options)) {
      Thread victim =
          Thread.ofPlatform()
              .start(
                  () -> {
                    try {
                      while (written.get() < writes) {
                        put(engine, "key" + written.get(), "value");
                        written.set(written.get() + 1);
                      }
                    } catch (Throwable e) {
                      failure.set(e);
                    }
                  });
      while (victim.isAlive()) {
        victim.interrupt();
        put(engine, "other", "value");
      }
      victim.join();
      assertNull(failure.get());
    }
    try (Engine engine = LsmEngine.open(options)) {
      assertEquals(writes, scan(engine, "key", "kez").size());
    }
  }

  @Test
  void manyWritersAndReadersAgree() throws InterruptedException {
    LsmOptions options = tiny().flushThreads(2).memtablesMax(2).build();
    AtomicReference<Throwable> failure = new AtomicReference<>();
    int writers = 4;
    int rounds = 400;
    try (Engine engine = LsmEngine.open(options)) {
      List<Thread> threads = new ArrayList<>();
      for (int w = 0; w < writers; w++) {
        String name = "w" + w + "-";
        threads.add(
            Thread.ofPlatform()
                .start(
                    () -> {
                      try {
                        for (int i = 0; i < rounds; i++) {
                          String key = name + i % 50;
                          put(engine, key, "v" + i);
                          assertEquals("v" + i, get(engine, key));
                          if (i % 97 == 0) {
                            wholeScan(engine, name, null);
                          }
                        }
                      } catch (Throwable e) {
                        failure.set(e);
                      }
                    }));
      }
      for (Thread thread : threads) {
        thread.join();
      }
      assertNull(failure.get());
      engine.quiesce();
      assertEquals(writers * 50, scan(engine, "w", null).size());
      assertFalse(engine.stats().flushes() == 0);
    }
    try (Engine engine = LsmEngine.open(options)) {
      for (int w = 0; w < writers; w++) {
        for (int i = 0; i < 50; i++) {
          assertEquals("v" + (rounds - 50 + i), get(engine, "w" + w + "-" + i));
        }
      }
    }
  }
}
