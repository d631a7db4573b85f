package lsmlab.storage.lsm;

import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import lsmlab.storage.Durability;
import lsmlab.storage.Engine;
import lsmlab.storage.ReadOnlyException;
import lsmlab.storage.WriteBatch;
import lsmlab.storage.file.SimulatedDirectory;
import lsmlab.storage.file.SimulatedDirectory.SyncFilter;
import org.junit.jupiter.api.Test;

/**
 * Several writers, whose writes are committed in groups, and a loss of power. Each key then holds
 * its last acknowledged write, or the one write that was not acknowledged yet. Half of the writers
 * use batches.
 */
class GroupCommitCrashTest {

  private static final int SEEDS = Integer.getInteger("lsmlab.crash.seeds", 200) / 4;
  private static final int WRITERS = 4;
  private static final int KEYS = 5;
  private static final long WRITES = 100_000;

  /**
   * The keys of one thread, with the last acknowledged and the last tried write of each; −1 if
   * there was none.
   */
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
        if (number % 2 == 0) {
          writeSingly();
        } else {
          writeTogether();
        }
      } catch (ReadOnlyException e) {
        // The power is gone.
      } catch (Throwable e) {
        failure.set(e);
      }
    }

    private void writeSingly() {
      for (long i = 0; i < WRITES; i++) {
        int key = (int) (i % KEYS);
        tried[key] = i;
        engine.put(key(key), value(i));
        acknowledged[key] = i;
      }
    }

    /** Writes one to {@link #KEYS} different keys at a time. */
    private void writeTogether() {
      WriteBatch batch = new WriteBatch();
      for (long i = 0; i < WRITES; i += batch.size()) {
        batch.clear();
        for (long next = i; next <= i + i % KEYS; next++) {
          int key = (int) (next % KEYS);
          tried[key] = next;
          byte[] value = value(next);
          batch.put(key(key), 0, key(key).length, value, 0, value.length);
        }
        engine.write(batch);
        for (int done = 0; done < batch.size(); done++) {
          if (batch.failure(done) instanceof RuntimeException e) {
            throw e;
          }
          acknowledged[(int) ((i + done) % KEYS)] = i + done;
        }
      }
    }

    private static byte[] value(long number) {
      return (number + "x".repeat((int) (number % 300))).getBytes(StandardCharsets.UTF_8);
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
  void noWriterLosesAnAcknowledgedWrite() throws InterruptedException, IOException {
    run(SEEDS, name -> true);
  }

  /** Checks the test itself: it must fail if the sync of the log is left out. */
  @Test
  void aMissingSyncOfTheLogIsFound() throws InterruptedException, IOException {
    try {
      run(1_000, name -> !name.endsWith(".wal"));
    } catch (AssertionError e) {
      return;
    }
    fail("1000 seeds did not find the missing sync");
  }

  private static void run(int seeds, SyncFilter syncs) throws InterruptedException, IOException {
    for (int seed = 0; seed < seeds; seed++) {
      SplittableRandom random = new SplittableRandom(seed);
      SimulatedDirectory directory = new SimulatedDirectory();
      directory.setSyncFilter(syncs);
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
