package lsmlab.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import lsmlab.storage.file.SimulatedDirectory;
import org.junit.jupiter.api.Test;

/** Flushing that is stuck: writes are held back, then refused, and go on when it is over. */
class BackpressureTest {

  private final SimulatedDirectory directory = new SimulatedDirectory();

  private Engine open(long stallMillisMax) {
    return LsmEngine.open(
        LsmOptions.builder(Path.of("unused"))
            .flushThresholdBytes(10_000)
            .memtablesMax(2)
            .stallMillisMax(stallMillisMax)
            .build(),
        directory);
  }

  /** Tables cannot be made until the latch opens. The lock of the directory is not held meanwhile. */
  private void holdTables(CountDownLatch release) {
    directory.setFault(
        (operation, name) -> {
          if (name.endsWith(".sst") && release.getCount() > 0) {
            throw new IOException("No space left on device");
          }
        });
  }

  private static int putUntilRefused(Engine engine) {
    byte[] value = new byte[500];
    for (int i = 0; i < 10_000; i++) {
      try {
        engine.put(new byte[] {(byte) (i >> 8), (byte) i}, value);
      } catch (ReadOnlyException e) {
        assertTrue(e.getMessage().contains("No space left"), e.getMessage());
        return i;
      } catch (OverloadedException e) {
        // The flush has not failed yet; it is only known to be late.
        i--;
      }
    }
    throw new AssertionError("writes were never refused");
  }

  @Test
  void memoryStaysBoundedAndNothingAcknowledgedIsLost() throws InterruptedException {
    CountDownLatch release = new CountDownLatch(1);
    int accepted;
    try (Engine engine = open(10)) {
      holdTables(release);
      accepted = putUntilRefused(engine);
      assertTrue(accepted >= 40 && accepted <= 70, accepted + " writes fit three memtables");
      assertEquals(2, engine.stats().memtablesSealed());
      assertTrue(engine.stats().memtableBytes() < 45_000);
      assertTrue(engine.stats().writeStallNanos() > 0);
      for (int i = 0; i < accepted; i++) {
        assertEquals(500, engine.get(new byte[] {(byte) (i >> 8), (byte) i}).length);
      }
      release.countDown();
      boolean written = false;
      for (int tries = 0; tries < 2_000 && !written; tries++) {
        try {
          engine.put(new byte[] {9, 9}, new byte[1]);
          written = true;
        } catch (ReadOnlyException e) {
          Thread.sleep(5);
        }
      }
      assertTrue(written, "there is space again");
      engine.flush();
      assertEquals(0, engine.stats().memtablesSealed());
    }
    try (Engine engine = open(10)) {
      for (int i = 0; i < accepted; i++) {
        assertEquals(500, engine.get(new byte[] {(byte) (i >> 8), (byte) i}).length);
      }
    }
  }

  @Test
  void slowFlushesMakeAnOverload() {
    CountDownLatch inside = new CountDownLatch(1);
    directory.setFault(
        (operation, name) -> {
          if (name.endsWith(".sst") && operation == SimulatedDirectory.Operation.CREATE) {
            inside.countDown();
          }
        });
    try (Engine engine = open(0)) {
      byte[] value = new byte[9_000];
      // Each write fills a memtable; without any waiting three of them are faster than a flush,
      // sooner or later.
      OverloadedException e =
          assertThrows(
              OverloadedException.class,
              () -> {
                for (int i = 0; i < 100_000; i++) {
                  engine.put(new byte[] {1}, value);
                  engine.put(new byte[] {2}, value);
                }
              });
      assertTrue(e.getMessage().contains("memtables wait for a flush"), e.getMessage());
      assertEquals(0, inside.getCount());
    }
  }
}
