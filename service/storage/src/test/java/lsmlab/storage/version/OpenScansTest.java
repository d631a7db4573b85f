package lsmlab.storage.version;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.NavigableMap;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import lsmlab.storage.CompactionStrategy;
import lsmlab.storage.Compression;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.Scan;
import lsmlab.storage.ScanEndedException;
import lsmlab.storage.file.SimulatedDirectory;
import lsmlab.storage.lsm.LsmEngine;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The data that open scans keep alive is limited: the oldest scans are ended. */
class OpenScansTest {

  private static final LsmOptions OPTIONS =
      LsmOptions.builder(Path.of("unused"))
          .flushThresholdBytes(50_000)
          .memtablesMax(2)
          .stallMillisMax(60_000)
          .build();

  private final SimulatedDirectory directory = new SimulatedDirectory();

  private static byte[] key(int i) {
    return "key%05d".formatted(i).getBytes(StandardCharsets.US_ASCII);
  }

  private static void write(LsmEngine engine, int pairs, int mark) {
    for (int i = 0; i < pairs; i++) {
      engine.put(key(i), new byte[] {(byte) mark, 1, 2, 3});
    }
  }

  @Test
  void theOldestScansAreEndedAndTheirMemoryIsFreed() throws InterruptedException {
    try (LsmEngine engine = LsmEngine.open(OPTIONS, directory)) {
      List<Scan> held = new ArrayList<>();
      for (int round = 0; round < 40; round++) {
        write(engine, 400, round);
        Scan scan = engine.scan(new byte[] {0}, null);
        assertTrue(scan.next());
        scan.pause();
        held.add(scan);
        engine.flush();
      }
      engine.quiesce();
      // Each keeps a memtable of about 25 KB beside the table that it became; 150 KB are allowed.
      Scan oldest = held.getFirst();
      assertThrows(ScanEndedException.class, oldest::resume);
      ScanEndedException e = assertThrows(ScanEndedException.class, oldest::next);
      assertTrue(e.getMessage().contains("read too slowly"), e.getMessage());
      int ended = 0;
      for (Scan scan : held) {
        try {
          while (scan.next()) {
            assertEquals(held.indexOf(scan), scan.value().get(ValueLayout.JAVA_BYTE, 0));
          }
        } catch (ScanEndedException each) {
          ended++;
        }
        scan.close();
      }
      assertTrue(ended >= 30 && ended < 40, ended + " of 40 were ended");
    }
    assertEquals(List.of(), directory.inUse());
  }

  /** Replaced tables may take 64 MiB here. Memtables may take 256 MiB, so they end no scan. */
  @Test
  void theOldestScansAreEndedWhenTheyKeepTooManyReplacedTables() throws InterruptedException {
    LsmOptions options =
        LsmOptions.builder(Path.of("unused"))
            .flushThresholdBytes(8 << 20)
            .memtablesMax(31)
            .compaction(CompactionStrategy.OFF)
            .stallMillisMax(60_000)
            .build();
    try (LsmEngine engine = LsmEngine.open(options, directory)) {
      List<Scan> held = new ArrayList<>();
      for (int round = 0; round < 12; round++) {
        for (int i = 0; i < 7; i++) {
          engine.put(key(i), new byte[1 << 20]);
        }
        engine.flush();
        engine.compact();
        Scan scan = engine.scan(new byte[] {0}, null);
        assertTrue(scan.next());
        scan.pause();
        held.add(scan);
      }
      engine.quiesce();
      assertThrows(ScanEndedException.class, held.getFirst()::next);
      assertTrue(held.getLast().next());
      // A thread of the engine deletes the tables that no scan keeps any more.
      long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
      while (directory.bytes(".sst") >> 20 > 10 * 7 && System.nanoTime() < deadline) {
        Thread.sleep(5);
      }
      assertEquals(10 * 7, directory.bytes(".sst") >> 20, "one current table and nine replaced");
      held.forEach(Scan::close);
    }
    assertEquals(List.of(), directory.inUse());
  }

  /** Values of up to 200 KB, so that some decompressed blocks are dropped during a pause and others are kept. */
  @ParameterizedTest
  @EnumSource(Compression.class)
  void aPausedScanContinuesAtItsPair(Compression compression) throws InterruptedException {
    LsmOptions options =
        LsmOptions.builder(Path.of("unused"))
            .compaction(CompactionStrategy.OFF)
            .compression(compression)
            .build();
    SplittableRandom random = new SplittableRandom(1);
    NavigableMap<String, Integer> model = new TreeMap<>();
    try (LsmEngine engine = LsmEngine.open(options, directory)) {
      for (int run = 0; run < 5; run++) {
        for (int i = 0; i < 40; i++) {
          byte[] key = key(random.nextInt(100));
          int length = random.nextInt(10) == 0 ? 200_000 : 1 + random.nextInt(3_000);
          engine.put(key, value(length));
          model.put(new String(key, StandardCharsets.US_ASCII), length);
        }
        if (run < 4) {
          engine.flush();
        }
      }
      NavigableMap<String, Integer> found = new TreeMap<>();
      try (Scan scan = engine.scan(new byte[] {0}, null)) {
        scan.pause();
        while (scan.next()) {
          for (int pauses = random.nextInt(3); pauses > 0; pauses--) {
            scan.pause();
            scan.resume();
          }
          byte[] value = scan.value().toArray(ValueLayout.JAVA_BYTE);
          assertArrayEquals(value(value.length), value);
          found.put(
              new String(scan.key().toArray(ValueLayout.JAVA_BYTE), StandardCharsets.US_ASCII),
              value.length);
          if (random.nextBoolean()) {
            scan.pause();
          }
        }
      }
      assertEquals(model, found);
    }
    assertEquals(List.of(), directory.inUse());
  }

  private static byte[] value(int length) {
    byte[] value = new byte[length];
    Arrays.fill(value, (byte) length);
    return value;
  }

  @Test
  void aLoneScanIsNeverEnded() throws InterruptedException {
    LsmOptions tiny =
        LsmOptions.builder(Path.of("unused"))
            .flushThresholdBytes(1_000)
            .memtablesMax(1)
            .stallMillisMax(60_000)
            .build();
    try (LsmEngine engine = LsmEngine.open(tiny, directory);
        Scan scan = scanAfter(engine)) {
      for (int round = 2; round < 10; round++) {
        write(engine, 400, round);
        engine.flush();
      }
      int pairs = 0;
      while (scan.next()) {
        assertEquals(1, scan.value().get(ValueLayout.JAVA_BYTE, 0));
        pairs++;
      }
      assertEquals(400, pairs);
    }
  }

  private static Scan scanAfter(LsmEngine engine) {
    write(engine, 400, 1);
    return engine.scan(new byte[] {0}, null);
  }

  @Test
  void aScanThatIsEndedWhileItMovesNeverReturnsWrongPairs() throws InterruptedException {
    AtomicReference<Throwable> failure = new AtomicReference<>();
    try (LsmEngine engine = LsmEngine.open(OPTIONS, directory)) {
      write(engine, 1_000, 7);
      for (int round = 0; round < 300; round++) {
        LsmScan scan = (LsmScan) engine.scan(new byte[] {0}, null);
        Thread reader =
            Thread.ofPlatform()
                .start(
                    () -> {
                      try (scan) {
                        while (scan.next()) {
                          assertEquals(4, scan.value().byteSize());
                          assertEquals(7, scan.value().get(ValueLayout.JAVA_BYTE, 0));
                          scan.pause();
                          scan.resume();
                          assertEquals(7, scan.value().get(ValueLayout.JAVA_BYTE, 0));
                        }
                      } catch (ScanEndedException e) {
                        // as it should
                      } catch (Throwable e) {
                        failure.set(e);
                      }
                    });
        scan.end("by a test");
        reader.join();
      }
    }
    if (failure.get() != null) {
      throw new AssertionError(failure.get());
    }
    assertEquals(List.of(), directory.inUse());
  }
}
