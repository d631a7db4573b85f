package lsmlab.storage.textbook;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import lsmlab.storage.FlushBacklog;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.OverloadedException;
import lsmlab.storage.concurrent.Threads;
import lsmlab.storage.file.SimulatedDirectory;
import lsmlab.storage.file.SimulatedDirectory.Operation;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Writes meet flushes that are too slow. 2,000 writes a second of 2 KB fill a memtable of 1 MB in
 * 0.26 s, so a flush of 0.3 s is still running when the next memtable is full: 600 writes arrive
 * during one flush. Here the flush waits until those 600 were offered.
 */
@Timeout(60)
class FlushBacklogTest {

  private static final int DURING_A_FLUSH = 600;
  private static final byte[] VALUE = new byte[2_000];
  private static final long THRESHOLD_BYTES = 1_000_000;

  /** Number of writes after which the first memtable is sealed. */
  private static final int IN_A_MEMTABLE =
      Math.toIntExact(
          Math.ceilDiv(
              THRESHOLD_BYTES, MappedTable.RECORD_HEAD_BYTES + key(0).length + VALUE.length));

  private final CountDownLatch flushMayEnd = new CountDownLatch(1);
  private final AtomicInteger accepted = new AtomicInteger();
  private TextbookEngine engine;

  private static byte[] key(int i) {
    return "k%09d".formatted(i).getBytes(StandardCharsets.US_ASCII);
  }

  private void open(FlushBacklog backlog) throws IOException {
    SimulatedDirectory directory = new SimulatedDirectory();
    directory.setFault(
        (operation, name) -> {
          if (operation == Operation.CREATE) {
            Threads.await(flushMayEnd);
          }
        });
    LsmOptions options =
        LsmOptions.builder(Path.of("store")).flushThresholdBytes(THRESHOLD_BYTES).build();
    engine = TextbookEngine.open(options, backlog, directory);
  }

  @AfterEach
  void endTheFlush() {
    flushMayEnd.countDown();
    engine.close();
  }

  /** Offers writes with the keys that follow, until one fails. */
  private void put(int count) {
    for (int i = 0; i < count; i++) {
      engine.put(key(accepted.get()), VALUE);
      accepted.incrementAndGet();
    }
  }

  private void assertNothingAcceptedIsMissing() {
    for (int i = 0; i < accepted.get(); i++) {
      assertNotNull(engine.get(key(i)), "pair " + i);
    }
  }

  @Test
  void failAcceptsNoFurtherWriteUntilTheFlushEnds() throws IOException {
    open(FlushBacklog.FAIL);
    put(IN_A_MEMTABLE);
    int refused = 0;
    for (int i = 0; i < DURING_A_FLUSH; i++) {
      try {
        put(1);
        assertEquals(0, refused, "accepted after a refusal");
      } catch (OverloadedException e) {
        assertTrue(e.getMessage().contains("each of the 1 flush threads"), e.getMessage());
        refused++;
      }
    }
    assertEquals(2 * IN_A_MEMTABLE, accepted.get());
    assertEquals(DURING_A_FLUSH - IN_A_MEMTABLE, refused);
    assertNothingAcceptedIsMissing();

    flushMayEnd.countDown();
    engine.quiesce();
    put(1);
    assertNothingAcceptedIsMissing();
  }

  @Test
  void blockHoldsTheWriterUntilTheFlushEnds() throws Exception {
    open(FlushBacklog.BLOCK);
    put(IN_A_MEMTABLE);
    Thread writer = Thread.ofPlatform().start(() -> put(DURING_A_FLUSH));
    while (writer.getState() != Thread.State.WAITING || accepted.get() < 2 * IN_A_MEMTABLE) {
      assertTrue(writer.isAlive(), "the writer did not wait");
      Thread.onSpinWait();
    }
    assertEquals(2 * IN_A_MEMTABLE, accepted.get());
    assertNothingAcceptedIsMissing();

    flushMayEnd.countDown();
    writer.join();
    assertEquals(IN_A_MEMTABLE + DURING_A_FLUSH, accepted.get());
    assertTrue(engine.stats().writeStallNanos() > 0);
    assertNothingAcceptedIsMissing();
  }

  @Test
  void unboundedAcceptsEveryWriteAndGrows() throws IOException {
    open(FlushBacklog.UNBOUNDED);
    put(IN_A_MEMTABLE);
    for (int second = 1; second <= 5; second++) {
      put(2_000);
      assertTrue(engine.stats().memtablesSealed() >= second * 3, "sealed in second " + second);
      assertTrue(engine.stats().memtableBytes() >= second * 4_000_000L, "second " + second);
    }
    assertNothingAcceptedIsMissing();

    flushMayEnd.countDown();
    engine.quiesce();
    assertEquals(0, engine.stats().memtablesSealed());
    assertFalse(engine.stats().memtableBytes() > 2 * THRESHOLD_BYTES);
    assertNothingAcceptedIsMissing();
  }
}
