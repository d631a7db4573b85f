package lsmlab.storage.lsm;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import lsmlab.storage.Durability;
import lsmlab.storage.Engine;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.OverloadedException;
import lsmlab.storage.ReadOnlyException;
import lsmlab.storage.WriteBatch;
import lsmlab.storage.engines.NullEngine;
import lsmlab.storage.file.SimulatedDirectory;
import lsmlab.storage.file.SimulatedDirectory.Operation;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Batches: the writes are executed in order, with one write to the log, and each succeeds or fails
 * on its own.
 */
class WriteBatchTest {

  private final SimulatedDirectory directory = new SimulatedDirectory();
  private final WriteBatch batch = new WriteBatch();

  private LsmEngine open(Durability durability) {
    return LsmEngine.open(
        LsmOptions.builder(Path.of("unused"))
            .durability(durability)
            .flushThresholdBytes(64 << 20)
            .build(),
        directory);
  }

  private void put(String key, String value) {
    byte[] keyBytes = ("#" + key).getBytes(US_ASCII);
    byte[] valueBytes = ("#" + value + "#").getBytes(US_ASCII);
    batch.put(keyBytes, 1, keyBytes.length - 1, valueBytes, 1, valueBytes.length - 2);
  }

  private void delete(String key) {
    batch.delete(key.getBytes(US_ASCII), 0, key.length());
  }

  private static String get(Engine engine, String key) {
    byte[] found = engine.get(key.getBytes(US_ASCII));
    return found == null ? null : new String(found, US_ASCII);
  }

  @ParameterizedTest
  @EnumSource(Durability.class)
  void aBatchIsExecutedInOrderAndSurvivesAReopen(Durability durability) {
    try (Engine engine = open(durability)) {
      for (int round = 0; round < 3; round++) {
        batch.clear();
        assertEquals(0, batch.size());
        put("twice", "first");
        put("gone", "soon");
        put("twice", "second" + round);
        delete("gone");
        put("empty", "");
        engine.write(batch);
        for (int i = 0; i < batch.size(); i++) {
          assertNull(batch.failure(i));
        }
        assertEquals("second" + round, get(engine, "twice"));
        assertNull(get(engine, "gone"));
      }
    }
    try (Engine engine = open(durability)) {
      assertEquals(
          new TreeMap<>(Map.of("twice", "second2", "empty", "")), History.contents(engine, ""));
    }
  }

  @Test
  void aBatchTakesOneWriteAndOneSync() {
    try (Engine engine = open(Durability.POWER)) {
      List<Operation> seen = new ArrayList<>();
      for (int i = 0; i < 100; i++) {
        put("key" + i, "value" + i);
      }
      long before = engine.stats().walSyncs();
      directory.setFault(
          (operation, name) -> {
            if (name.endsWith(".wal")) {
              seen.add(operation);
            }
          });
      engine.write(batch);
      directory.setFault((operation, name) -> {});
      // The last write is the synced record, for which nobody waits.
      assertEquals(List.of(Operation.WRITE, Operation.SYNC_FILE, Operation.WRITE), seen);
      assertEquals(before + 1, engine.stats().walSyncs());
    }
  }

  @ParameterizedTest
  @EnumSource(value = Durability.class, names = "NONE", mode = EnumSource.Mode.EXCLUDE)
  void aFailedWriteToTheLogFailsOnlyTheWritesInIt(Durability durability) {
    String large = "x".repeat(700_000); // two of them exceed the size of a group
    AtomicInteger writes = new AtomicInteger();
    try (Engine engine = open(durability)) {
      put("small", "1");
      put("first", large);
      put("second", large);
      put("last", "2");
      directory.setFault(
          (operation, name) -> {
            if (operation == Operation.WRITE
                && name.endsWith(".wal")
                && writes.incrementAndGet() == (durability == Durability.POWER ? 3 : 2)) {
              throw new IOException("No space left on device");
            }
          });
      engine.write(batch);
      assertNull(batch.failure(0));
      assertNull(batch.failure(1));
      assertInstanceOf(ReadOnlyException.class, batch.failure(2));
      assertInstanceOf(ReadOnlyException.class, batch.failure(3));
      assertEquals(large, get(engine, "first"));
      assertNull(get(engine, "second"));
      assertNull(get(engine, "last"));
      batch.clear();
      put("last", "3");
      engine.write(batch);
      assertNull(batch.failure(0), "there is space again");
    }
    directory.setFault((operation, name) -> {});
    try (Engine engine = open(durability)) {
      assertEquals(
          List.of("first", "last", "small"), List.copyOf(History.contents(engine, "").keySet()));
      assertEquals("3", get(engine, "last"));
    }
  }

  @Test
  void refusedWritesFailAndEarlierOnesAreDone() {
    AtomicBoolean flushesHeld = new AtomicBoolean(true);
    directory.setFault(
        (operation, name) -> {
          while (operation == Operation.CREATE && name.endsWith(".sst") && flushesHeld.get()) {
            try {
              directory.wait(); // releases its lock, so that the log can be written
            } catch (InterruptedException e) {
              throw new IOException(e);
            }
          }
        });
    LsmOptions options =
        LsmOptions.builder(Path.of("unused"))
            .flushThresholdBytes(20_000)
            .memtablesMax(1)
            .stallMillisMax(20)
            .build();
    Engine engine = LsmEngine.open(options, directory);
    try {
      int done = 0;
      Throwable failure = null;
      for (int round = 0; failure == null; round++) {
        assertTrue(round < 1_000, "writes are never held back");
        batch.clear();
        for (int i = 0; i < 10; i++) {
          put("key" + round + "-" + i, "x".repeat(500));
        }
        engine.write(batch);
        for (int i = 0; i < 10; i++) {
          failure = batch.failure(i);
          boolean there = get(engine, "key" + round + "-" + i) != null;
          assertEquals(failure == null, there);
          done += there ? 1 : 0;
        }
      }
      assertInstanceOf(OverloadedException.class, failure);
      assertEquals(done, History.contents(engine, "").size());
    } finally {
      flushesHeld.set(false);
      synchronized (directory) {
        directory.notifyAll();
      }
      engine.close();
    }
  }

  @Test
  void anEngineWithoutBatchesFailsOnlyTheWritesThatFail() {
    Engine engine =
        new NullEngine() {
          @Override
          public void put(byte[] key, int from, int length, byte[] value, int at, int bytes) {
            if (key[from] == 'b') {
              throw new ReadOnlyException("b is not taken");
            }
          }
        };
    put("a", "1");
    put("b", "2");
    delete("b");
    put("c", "3");
    engine.write(batch);
    assertNull(batch.failure(0));
    assertEquals("b is not taken", batch.failure(1).getMessage());
    assertNull(batch.failure(2));
    assertNull(batch.failure(3));
    assertThrows(IndexOutOfBoundsException.class, () -> batch.failure(4));
    batch.clear();
    put("a", "1");
    engine.write(batch);
    assertNull(batch.failure(0));
  }

  @Test
  void refusesKeysAndValuesThatNoEngineAccepts() {
    assertThrows(IllegalArgumentException.class, () -> batch.delete(new byte[0], 0, 0));
    byte[] key = new byte[Engine.KEY_BYTES_MAX + 1];
    assertThrows(
        IllegalArgumentException.class, () -> batch.put(key, 0, key.length, key, 0, key.length));
    assertThrows(IndexOutOfBoundsException.class, () -> batch.put(key, 1, 3, key, 5, key.length));
    assertEquals(0, batch.size());
  }

  @Test
  void aClosedStoreRefusesABatch() {
    Engine engine = open(Durability.PROCESS);
    engine.close();
    put("a", "1");
    assertThrows(IllegalStateException.class, () -> engine.write(batch));
  }
}
