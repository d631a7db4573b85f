package lsmlab.storage.lsm;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import lsmlab.storage.Engine;
import lsmlab.storage.LsmOptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Closes the store while other threads read. */
class CloseTest {

  private static final int ROUNDS = 8;
  private static final int READERS = 4;
  private static final int PAIRS = 600;
  private static final int FLUSHED = 500;

  private static byte[] key(int i) {
    return "key%03d".formatted(i).getBytes(StandardCharsets.UTF_8);
  }

  private static byte[] value(int i) {
    return ("value" + "x".repeat(i)).getBytes(StandardCharsets.UTF_8);
  }

  /** Every lookup returns its result, or throws because the store is closed. */
  @Test
  void aReaderGetsItsResultOrTheErrorThatTheStoreIsClosed(@TempDir Path path)
      throws InterruptedException {
    LsmOptions options =
        LsmOptions.builder(path).flushThresholdBytes(100_000).tableBytes(20_000).build();
    for (int round = 0; round < ROUNDS; round++) {
      Engine engine = LsmEngine.open(options);
      for (int i = 0; i < PAIRS; i++) {
        engine.put(key(i), value(i));
        if (i == FLUSHED) {
          engine.flush();
        }
      }
      AtomicReference<Throwable> failure = new AtomicReference<>();
      AtomicInteger lookups = new AtomicInteger();
      List<Thread> readers = new ArrayList<>();
      for (int reader = 0; reader < READERS; reader++) {
        readers.add(Thread.ofPlatform().start(() -> readUntilClosed(engine, lookups, failure)));
      }
      while (lookups.get() < 2_000 && failure.get() == null) {
        Thread.onSpinWait();
      }
      engine.close();
      for (Thread reader : readers) {
        reader.join();
      }
      assertNull(failure.get());
    }
  }

  private static void readUntilClosed(
      Engine engine, AtomicInteger lookups, AtomicReference<Throwable> failure) {
    try {
      for (int i = 0; ; i = (i + 7) % PAIRS) {
        assertArrayEquals(value(i), engine.get(key(i)));
        lookups.incrementAndGet();
      }
    } catch (IllegalStateException e) {
      try {
        assertEquals("the store is closed", e.getMessage());
      } catch (AssertionError wrong) {
        failure.set(wrong);
      }
    } catch (Throwable e) {
      failure.set(e);
    }
  }
}
