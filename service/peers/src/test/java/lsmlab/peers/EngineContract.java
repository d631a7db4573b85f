package lsmlab.peers;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.NavigableMap;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicIntegerArray;
import lsmlab.storage.Durability;
import lsmlab.storage.Engine;
import lsmlab.storage.Keeps;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.OverloadedException;
import lsmlab.storage.Scan;
import lsmlab.storage.ValueSink;
import lsmlab.storage.WriteBatch;
import lsmlab.storage.engines.Engines;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests of what {@link Engine} promises, for every engine that stores pairs. The test of an engine
 * extends this class and names the engine.
 */
abstract class EngineContract {

  private static final int WRITERS = 4;

  @TempDir Path temporary;
  private final String name;
  private Engine engine;

  EngineContract(String name) {
    this.name = name;
  }

  private Engines.Entry entry() {
    return PeerEngines.find(name).orElseThrow();
  }

  /** Returns the options of the store under test. */
  LsmOptions.Builder options() {
    return LsmOptions.builder(temporary.resolve("store")).flushThresholdBytes(256 * 1024);
  }

  private Engine open(Durability durability) {
    return entry().factory().open(options().durability(durability).build());
  }

  @BeforeEach
  void openStore() {
    engine = open(Durability.PROCESS);
  }

  @AfterEach
  void closeStore() {
    engine.close();
  }

  @Test
  void readsReturnTheValuesThatWerePut() {
    put("a", "1");
    put("b", "");
    assertEquals("1", get("a"));
    assertEquals("", get("b"));
    assertNull(get("c"));
  }

  @Test
  void replacesAndDeletes() {
    put("a", "1");
    put("a", "longer than before");
    assertEquals("longer than before", get("a"));
    engine.delete(bytes("a"));
    assertNull(get("a"));
    engine.delete(bytes("never there"));
    put("a", "again");
    assertEquals("again", get("a"));
  }

  @Test
  void executesABatchInOrder() {
    put("gone", "soon");
    WriteBatch batch = new WriteBatch();
    for (int round = 0; round < 2; round++) {
      batch.clear();
      byte[] key = bytes("..key..");
      byte[] value = bytes("##value###");
      batch.put(key, 2, 3, value, 2, 1);
      batch.delete(bytes("gone"), 0, 4);
      batch.put(key, 2, 3, value, 2, 5);
      engine.write(batch);
      Arrays.fill(key, (byte) 'x');
      Arrays.fill(value, (byte) 'x');
      for (int i = 0; i < batch.size(); i++) {
        assertNull(batch.failure(i));
      }
      assertEquals("value", get("key"));
      assertNull(get("gone"));
    }
  }

  @Test
  void copiesSlicesOfTheCallersArrays() {
    byte[] key = bytes("..key..");
    byte[] value = bytes("##value###");
    engine.put(key, 2, 3, value, 2, 5);
    Arrays.fill(key, (byte) 'x');
    Arrays.fill(value, (byte) 'x');
    assertEquals("value", get("key"));

    List<String> shown = new ArrayList<>();
    ValueSink sink =
        (source, offset, length) ->
            shown.add(new String(ValueSink.copy(source, offset, length), US_ASCII));
    assertTrue(engine.get(bytes("[key]"), 1, 3, sink));
    assertFalse(engine.get(bytes("[key]"), 0, 3, sink));
    assertEquals(List.of("value"), shown);

    engine.delete(bytes("[key]"), 1, 3);
    assertNull(get("key"));
  }

  @Test
  void aResultBelongsToTheCaller() {
    put("a", "value");
    Arrays.fill(engine.get(bytes("a")), (byte) 'x');
    assertEquals("value", get("a"));
    engine.flush();
    Arrays.fill(engine.get(bytes("a")), (byte) 'x');
    assertEquals("value", get("a"));
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 4095, 4096, 4097, 100_000, 3_000_000})
  void keepsValuesOfAnySize(int length) {
    byte[] value = new byte[length];
    new Random(length).nextBytes(value);
    engine.put(bytes("k"), value);
    assertArrayEquals(value, engine.get(bytes("k")));
    engine.flush();
    assertArrayEquals(value, engine.get(bytes("k")));
  }

  @Test
  void keepsTheLongestKey() {
    byte[] key = new byte[Engine.KEY_BYTES_MAX];
    Arrays.fill(key, (byte) 0xFF);
    engine.put(key, bytes("long"));
    engine.flush();
    assertArrayEquals(bytes("long"), engine.get(key));
  }

  @Test
  void refusesKeysThatAreEmptyTooLongOrOutsideTheirArray() {
    byte[] value = bytes("v");
    assertThrows(IllegalArgumentException.class, () -> engine.put(new byte[0], value));
    assertThrows(
        IllegalArgumentException.class,
        () -> engine.put(new byte[Engine.KEY_BYTES_MAX + 1], value));
    assertThrows(IllegalArgumentException.class, () -> engine.get(new byte[0]));
    assertThrows(IllegalArgumentException.class, () -> engine.delete(new byte[0]));
    assertThrows(IndexOutOfBoundsException.class, () -> engine.put(new byte[4], 2, 3, value, 0, 1));
    assertThrows(IndexOutOfBoundsException.class, () -> engine.put(new byte[4], 0, 3, value, 1, 1));
  }

  @Test
  void scansInUnsignedOrderFromInclusiveToExclusive() {
    for (int first : new int[] {0x80, 0x00, 0xFF, 0x7F, 0x01}) {
      engine.put(new byte[] {(byte) first}, bytes("v" + first));
      engine.put(new byte[] {(byte) first, 0}, bytes("v" + first + ".0"));
    }
    assertEquals(
        List.of("v1", "v1.0", "v127", "v127.0", "v128"),
        values(new byte[] {1}, new byte[] {(byte) 0x80, 0}));
    assertEquals(List.of("v255", "v255.0"), values(new byte[] {(byte) 0xFF}, null));
    assertEquals(List.of(), values(new byte[] {2}, new byte[] {2}));
    assertEquals(List.of(), values(new byte[] {9}, new byte[] {2}));
  }

  @Test
  void aScanShowsTheMomentItWasOpened() {
    for (int i = 0; i < 2_000; i++) {
      put(key(i), "old" + i);
    }
    try (Scan scan = engine.scan(bytes("k"), null)) {
      assertTrue(scan.next());
      for (int i = 0; i < 2_000; i += 2) {
        put(key(i), "new");
        engine.delete(bytes(key(i + 1)));
        put("k" + key(i), "added");
      }
      engine.flush();
      engine.compact();
      for (int i = 0; i < 2_000; i++) {
        assertEquals(key(i), text(scan.key().toArray(JAVA_BYTE)));
        assertEquals("old" + i, text(scan.value().toArray(JAVA_BYTE)));
        assertEquals(i < 1_999, scan.next());
      }
    }
    assertNull(get(key(1)));
    assertEquals("new", get(key(0)));
  }

  @Test
  void keepsAHistoryThroughFlushesCompactionsAndRestarts() {
    NavigableMap<String, String> model = new TreeMap<>();
    Random random = new Random(7);
    for (int step = 0; step < 20_000; step++) {
      String key = key(random.nextInt(500));
      int dice = random.nextInt(1_000);
      if (dice < 600) {
        String value = step + "-" + "x".repeat(random.nextInt(300));
        put(key, value);
        model.put(key, value);
      } else if (dice < 750) {
        engine.delete(bytes(key));
        model.remove(key);
      } else if (dice < 990) {
        assertEquals(model.get(key), get(key));
      } else if (dice < 994) {
        String to = key(random.nextInt(500));
        List<String> expected =
            key.compareTo(to) < 0 ? List.copyOf(model.subMap(key, to).values()) : List.of();
        assertEquals(expected, values(bytes(key), bytes(to)));
      } else if (dice < 996) {
        engine.flush();
      } else if (dice < 997) {
        engine.compact();
      } else if (dice < 999) {
        engine.quiesce();
      } else if (entry().persistent()) {
        engine.close();
        engine = open(Durability.PROCESS);
      }
    }
    engine.quiesce();
    assertEquals(List.copyOf(model.values()), values(bytes("k"), null));
  }

  @ParameterizedTest
  @EnumSource(Durability.class)
  void aReaderNeverSeesLessThanWasAcknowledged(Durability durability) throws Exception {
    engine.close();
    engine = open(durability);
    int keys = 64;
    int rounds = durability == Durability.POWER ? 20 : 200;
    AtomicIntegerArray acknowledged = new AtomicIntegerArray(keys);
    List<Callable<Integer>> tasks = new ArrayList<>();
    for (int writer = 0; writer < WRITERS; writer++) {
      int own = writer;
      tasks.add(
          () -> {
            for (int round = 1; round <= rounds; round++) {
              for (int k = own; k < keys; k += WRITERS) {
                put(key(k), Integer.toString(round));
                acknowledged.set(k, round);
              }
            }
            return 0;
          });
    }
    for (int reader = 0; reader < 2; reader++) {
      long seed = reader;
      tasks.add(
          () -> {
            Random random = new Random(seed);
            int reads = 0;
            while (acknowledged.get(keys - 1) < rounds) {
              int k = random.nextInt(keys);
              int floor = acknowledged.get(k);
              String seen = get(key(k));
              int round = seen == null ? 0 : Integer.parseInt(seen);
              assertTrue(
                  round >= floor, () -> key(k) + ": acknowledged " + floor + ", seen " + round);
              reads++;
            }
            return reads;
          });
    }
    try (ExecutorService pool = Executors.newFixedThreadPool(tasks.size())) {
      for (Future<Integer> task : pool.invokeAll(tasks)) {
        task.get();
      }
    }
    if (entry().persistent()) {
      engine.close();
      engine = open(durability);
      for (int k = 0; k < keys; k++) {
        assertEquals(Integer.toString(rounds), get(key(k)));
      }
    }
  }

  @ParameterizedTest
  @EnumSource(Durability.class)
  void acknowledgedWritesSurviveTheirProcess(Durability durability) throws Exception {
    if (entry().keeps() != Keeps.KILLED || durability == Durability.NONE) {
      return;
    }
    engine.close();
    int acknowledged = Victim.run(name, temporary.resolve("store"), durability);
    assertTrue(acknowledged >= Victim.WRITES, "the victim died early, after " + acknowledged);
    engine = open(durability);
    for (int i = 0; i < acknowledged; i++) {
      assertEquals(Victim.value(i), get(key(i)));
    }
  }

  @Test
  void statsCountTheBytesHeld() {
    for (int i = 0; i < 5_000; i++) {
      put(key(i), "x".repeat(200));
    }
    engine.quiesce();
    long held = engine.stats().memtableBytes() + engine.stats().tableBytes();
    assertTrue(held >= 1_000_000, "held " + held);
  }

  @Test
  void closeIsIdempotent() {
    engine.close();
    engine.close();
    engine = open(Durability.PROCESS);
  }

  private void put(String key, String value) {
    while (true) {
      try {
        engine.put(bytes(key), bytes(value));
        return;
      } catch (OverloadedException e) {
        Thread.onSpinWait();
      }
    }
  }

  private String get(String key) {
    byte[] value = engine.get(bytes(key));
    return value == null ? null : text(value);
  }

  private List<String> values(byte[] from, byte[] to) {
    List<String> values = new ArrayList<>();
    byte[] last = null;
    try (Scan scan = engine.scan(from, to)) {
      while (scan.next()) {
        byte[] key = scan.key().toArray(JAVA_BYTE);
        assertTrue(last == null || Arrays.compareUnsigned(last, key) < 0, "keys must ascend");
        last = key;
        scan.pause();
        scan.resume();
        values.add(text(scan.value().toArray(JAVA_BYTE)));
        if (values.size() % 2 == 0) {
          scan.pause(); // the scan then moves on without resume()
        }
      }
    }
    return values;
  }

  static String key(int i) {
    return String.format("k%06d", i);
  }

  static byte[] bytes(String text) {
    return text.getBytes(US_ASCII);
  }

  private static String text(byte[] bytes) {
    return new String(bytes, US_ASCII);
  }
}
