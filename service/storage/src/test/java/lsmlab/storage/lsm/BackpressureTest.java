package lsmlab.storage.lsm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import lsmlab.storage.Engine;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.OverloadedException;
import lsmlab.storage.ReadOnlyException;
import lsmlab.storage.TreeStats.StallCause;
import lsmlab.storage.file.SimulatedDirectory;
import org.junit.jupiter.api.Test;

/**
 * If flushing is stuck, writes are held back, then refused, and accepted again when it continues.
 */
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

  /**
   * Blocks the creation of tables until the latch opens, without holding the lock of the directory.
   */
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
      for (int tries = 0; tries < 12_000 && !written; tries++) {
        try {
          engine.put(new byte[] {9, 9}, new byte[1]);
          written = true;
        } catch (ReadOnlyException | OverloadedException e) {
          Thread.sleep(
              5); // the flush is tried again after a while, and may take longer than a put waits
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
  void flushesThatDoNotKeepUpCauseAnOverload() {
    AtomicBoolean held = new AtomicBoolean(true);
    directory.setFault(
        (operation, name) -> {
          // Waiting releases the directory's lock, so that the WAL can be written meanwhile.
          while (name.endsWith(".sst") && held.get()) {
            waitFor(directory);
          }
        });
    byte[] value = new byte[9_000];
    int accepted = 0;
    try (Engine engine = open(5)) {
      try {
        for (; accepted < 100; accepted++) {
          engine.put(new byte[] {(byte) accepted}, value);
        }
        throw new AssertionError("writes were never refused");
      } catch (OverloadedException e) {
        assertTrue(
            e.getMessage().contains("writes are held back: 2 memtables wait for a flush"),
            e.getMessage());
      } finally {
        held.set(false);
      }
      long full = engine.stats().tree().stallNanos().get(StallCause.MEMTABLES_FULL);
      assertTrue(full > 0 && full <= engine.stats().writeStallNanos(), "stalled " + full + " ns");
      assertEquals(0, engine.stats().tree().stallNanos().get(StallCause.LEVEL0_FULL));
      assertTrue(accepted >= 3 && accepted <= 8, accepted + " writes fit three memtables");
      engine.quiesce();
      engine.put(new byte[] {99}, value);
      for (int i = 0; i < accepted; i++) {
        assertEquals(value.length, engine.get(new byte[] {(byte) i}).length);
      }
    }
  }

  /** A caller that waits for a stuck flush must not wait forever when the store is closed. */
  @Test
  void closingEndsTheWaitForAFlush() throws InterruptedException {
    AtomicBoolean held = new AtomicBoolean(true);
    directory.setFault(
        (operation, name) -> {
          while (name.endsWith(".sst") && held.get()) {
            waitFor(directory);
          }
        });
    Engine engine = open(5);
    engine.put(new byte[] {1}, new byte[9_999]);
    engine.put(new byte[] {2}, new byte[9_999]);
    AtomicReference<Throwable> ended = new AtomicReference<>();
    Thread waiter =
        Thread.ofPlatform()
            .start(
                () -> {
                  try {
                    engine.flush();
                  } catch (Throwable e) {
                    ended.set(e);
                  }
                });
    while (!isIn(waiter, "awaitFlushed")) {
      Thread.onSpinWait();
    }
    Thread closer = Thread.ofPlatform().start(engine::close);
    waiter.join();
    assertTrue(ended.get() instanceof IllegalStateException, String.valueOf(ended.get()));
    assertTrue(closer.isAlive(), "it finishes the table that is being built");
    held.set(false);
    closer.join();
    assertEquals(List.of(), directory.inUse());
    try (Engine reopened = open(5)) {
      assertEquals(9_999, reopened.get(new byte[] {1}).length);
      assertEquals(9_999, reopened.get(new byte[] {2}).length);
    }
  }

  private static boolean isIn(Thread thread, String method) {
    for (StackTraceElement element : thread.getStackTrace()) {
      if (element.getMethodName().equals(method)) {
        return true;
      }
    }
    return false;
  }

  private static void waitFor(SimulatedDirectory directory) {
    try {
      directory.wait(1);
    } catch (InterruptedException e) {
      throw new AssertionError("threads of an engine are not interrupted", e);
    }
  }
}
