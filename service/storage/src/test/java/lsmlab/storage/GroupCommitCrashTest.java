package lsmlab.storage;

import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import lsmlab.storage.file.SimulatedDirectory;
import org.junit.jupiter.api.Test;

/**
 * Several writers, whose writes are committed in groups, and a loss of power: what each of them was told is kept is
 * there, or the one later write it was waiting for.
 */
class GroupCommitCrashTest {

  private static final int SEEDS = Integer.getInteger("lsmlab.crash.seeds", 200) / 4;
  private static final int WRITERS = 4;
  private static final int KEYS = 5;

  /** One thread's keys and what it knows of them: −1 for never tried. */
  private static final class Writer implements Runnable {
    final long[] acknowledged = new long[KEYS];
    final long[] tried = new long[KEYS];
    private final Engine engine;
    private final int number;
    private final AtomicReference<Throwable> failure;

    Writer(Engine engine, int number, AtomicReference<Throwable> failure) {
      this.engine = engine;
      this.number = number;
      this.failure = failure;
      Arrays.fill(acknowledged, -1);
      Arrays.fill(tried, -1);
    }

    byte[] key(int key) {
      return ("writer" + number + "-" + key).getBytes(StandardCharsets.UTF_8);
    }

    @Override
    public void run() {
      try {
        for (long i = 0; i < 100_000; i++) {
          int key = (int) (i % KEYS);
          tried[key] = i;
          engine.put(key(key), (i + "x".repeat((int) (i % 300))).getBytes(StandardCharsets.UTF_8));
          acknowledged[key] = i;
        }
      } catch (ReadOnlyException e) {
        // The power is gone.
      } catch (Throwable e) {
        failure.set(e);
      }
    }

    void check(Engine after) {
      for (int key = 0; key < KEYS; key++) {
        byte[] found = after.get(key(key));
        long value = -1;
        if (found != null) {
          String text = new String(found, StandardCharsets.UTF_8);
          value = Long.parseLong(text.substring(0, (text + "x").indexOf('x')));
        }
        assertTrue(
            value == acknowledged[key] || value == tried[key],
            "writer %d key %d: found %d, acknowledged %d, tried %d"
                .formatted(number, key, value, acknowledged[key], tried[key]));
      }
    }
  }

  @Test
  void noWriterLosesWhatItWasTold() throws InterruptedException, IOException {
    for (int seed = 0; seed < SEEDS; seed++) {
      SplittableRandom random = new SplittableRandom(seed);
      SimulatedDirectory directory = new SimulatedDirectory();
      AtomicReference<Throwable> failure = new AtomicReference<>();
      List<Writer> writers = new ArrayList<>();
      try (LsmEngine engine =
          LsmEngine.open(History.tinyOptions(random, Durability.POWER), directory)) {
        AtomicLong left = new AtomicLong(random.nextInt(1, 400));
        directory.setFault(
            (operation, name) -> {
              if (left.decrementAndGet() == 0) {
                directory.freeze();
              }
            });
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < WRITERS; i++) {
          writers.add(new Writer(engine, i, failure));
          threads.add(Thread.ofPlatform().start(writers.get(i)));
        }
        for (Thread thread : threads) {
          thread.join();
        }
      } catch (UncheckedIOException e) {
        assertTrue(e.getMessage().contains("dead"), e.getMessage());
      }
      assertNull(failure.get());
      try (LsmEngine after =
          LsmEngine.open(
              History.tinyOptions(random, Durability.POWER), directory.losePower(random))) {
        for (Writer writer : writers) {
          writer.check(after);
        }
      } catch (RuntimeException | AssertionError e) {
        throw new AssertionError("seed " + seed + ": " + e, e);
      }
    }
  }
}
