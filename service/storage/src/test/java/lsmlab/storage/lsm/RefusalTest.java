package lsmlab.storage.lsm;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import lsmlab.storage.Durability;
import lsmlab.storage.Engine;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.OverloadedException;
import lsmlab.storage.ReadOnlyException;
import lsmlab.storage.WriteBatch;
import lsmlab.storage.concurrent.Threads;
import lsmlab.storage.file.SimulatedDirectory;
import lsmlab.storage.file.SimulatedDirectory.Operation;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Writes are refused in time when a store cannot take them, and accepted again once it can. */
class RefusalTest {

  private static final Set<Operation> TAKES_SPACE =
      EnumSet.of(Operation.CREATE, Operation.WRITE, Operation.PAD);

  private final SimulatedDirectory directory = new SimulatedDirectory();

  private static LsmOptions.Builder options() {
    return LsmOptions.builder(Path.of("unused"));
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  @Test
  void memoryStaysBoundedWhileNoLogCanBeCreated() {
    AtomicBoolean none = new AtomicBoolean();
    directory.setFault(
        (operation, name) -> {
          if (none.get() && operation == Operation.CREATE) {
            throw new IOException("Too many open files");
          }
        });
    LsmOptions options =
        options().flushThresholdBytes(10_000).memtablesMax(2).stallMillisMax(60_000).build();
    int taken = 0;
    try (LsmEngine engine = LsmEngine.open(options, directory)) {
      none.set(true);
      ReadOnlyException refused = null;
      while (refused == null && taken < 20_000) {
        try {
          engine.put(bytes("k" + taken), new byte[500]);
          taken++;
        } catch (ReadOnlyException e) {
          refused = e;
        }
      }
      assertTrue(refused != null, "20,000 writes were taken");
      assertTrue(refused.getMessage().contains("Too many open files"), refused.getMessage());
      assertTrue(engine.stats().memtableBytes() < 35_000, engine.stats().toString());
      none.set(false);
      for (int i = 0; i < 200; i++) {
        engine.put(bytes("after" + i), new byte[500]);
      }
    }
    try (Engine engine = LsmEngine.open(options, directory)) {
      for (int i = 0; i < taken; i++) {
        assertEquals(500, engine.get(bytes("k" + i)).length);
      }
    }
  }

  /** A lookup that does not return keeps every memtable alive that was active since it began. */
  @Test
  void memoryStaysBoundedWhileALookupKeepsFlushedMemtables() throws InterruptedException {
    LsmOptions options = options().flushThresholdBytes(10_000).memtablesMax(2).build();
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch end = new CountDownLatch(1);
    int taken = 0;
    try (LsmEngine engine = LsmEngine.open(options, directory)) {
      engine.put(bytes("key"), bytes("value"));
      Thread reader =
          Thread.ofPlatform()
              .start(
                  () ->
                      engine.get(
                          bytes("key"),
                          0,
                          3,
                          (source, offset, length) -> {
                            begun.countDown();
                            Threads.await(end);
                          }));
      begun.await();
      OverloadedException refused = null;
      while (refused == null && taken < 20_000) {
        try {
          engine.put(bytes("k" + taken), new byte[500]);
          taken++;
        } catch (OverloadedException e) {
          refused = e;
        }
      }
      end.countDown();
      reader.join();
      assertTrue(refused != null, "20,000 writes were taken");
      assertTrue(taken < 200, taken + " writes were taken, 20 of which fill a memtable");
      engine.quiesce();
      engine.put(bytes("k" + taken++), new byte[500]);
    }
    try (Engine engine = LsmEngine.open(options, directory)) {
      for (int i = 0; i < taken; i++) {
        assertEquals(500, engine.get(bytes("k" + i)).length);
      }
    }
  }

  @ParameterizedTest
  @EnumSource(value = Durability.class, names = "NONE", mode = EnumSource.Mode.EXCLUDE)
  void aStoreKilledOnAFullDiskCanBeReadAndAcceptsWritesOnceThereIsSpace(Durability durability) {
    LsmOptions options = options().durability(durability).build();
    LsmEngine killed = LsmEngine.open(options, directory);
    killed.put(bytes("key"), bytes("value"));
    SimulatedDirectory left = directory.afterKill();
    killed.close();
    AtomicBoolean full = new AtomicBoolean(true);
    left.setFault(
        (operation, name) -> {
          if (full.get() && TAKES_SPACE.contains(operation)) {
            throw new IOException("No space left on device");
          }
        });
    try (Engine engine = LsmEngine.open(options, left)) {
      assertArrayEquals(bytes("value"), engine.get(bytes("key")));
      ReadOnlyException e =
          assertThrows(ReadOnlyException.class, () -> engine.put(bytes("more"), bytes("1")));
      assertTrue(e.getMessage().contains("No space left on device"), e.getMessage());
      full.set(false);
      engine.put(bytes("more"), bytes("2"));
      engine.flush(); // at once, though the last try failed
      assertTrue(engine.stats().tables() > 0);
    }
    try (Engine engine = LsmEngine.open(options, left)) {
      assertArrayEquals(bytes("value"), engine.get(bytes("key")));
      assertArrayEquals(bytes("2"), engine.get(bytes("more")));
    }
  }

  @Test
  void aValueThatNoFlushCouldWriteIsRefusedAtOnce() {
    try (Engine engine = LsmEngine.open(options().valueBytesMax(1_000).build(), directory)) {
      engine.put(bytes("fits"), new byte[1_000]);
      IllegalArgumentException e =
          assertThrows(
              IllegalArgumentException.class, () -> engine.put(bytes("k"), new byte[1_001]));
      assertTrue(e.getMessage().contains("at most 1000 bytes"), e.getMessage());
      WriteBatch batch = new WriteBatch();
      batch.put(bytes("a"), 0, 1, new byte[10], 0, 10);
      batch.put(bytes("b"), 0, 1, new byte[1_001], 0, 1_001);
      batch.put(bytes("c"), 0, 1, new byte[10], 0, 10);
      engine.write(batch);
      assertNull(batch.failure(0));
      assertInstanceOf(IllegalArgumentException.class, batch.failure(1));
      assertNull(batch.failure(2), "each write succeeds or fails on its own");
      assertEquals(10, engine.get(bytes("a")).length);
      assertNull(engine.get(bytes("b")));
      assertEquals(10, engine.get(bytes("c")).length);
    }
  }
}
