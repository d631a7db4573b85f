package lsmlab.server.http;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.stream.Stream;
import lsmlab.server.variant.Variants;
import lsmlab.storage.CorruptionException;
import lsmlab.storage.Scan;
import lsmlab.storage.ScanEndedException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** A range whose storage fails in the middle: the client must not take the part for the whole. */
class RangeFailureTest {

  private static final int VALUE_BYTES = 10_000;

  /** Pairs that are read before anything is sent. */
  private static final int FIRST_PART = StreamedRange.BUFFER_BYTES / VALUE_BYTES;

  /** The failures of the storage. */
  private enum Failure {
    /** Damage that a checksum detects. */
    CORRUPT,
    /** A fault that the JVM detects late. */
    INTERNAL,
    /** Not a failure: the engine takes back old data that a slow reader keeps. */
    ENDED,
    /** A value whose page is gone, detected when the server copies it. */
    UNREADABLE
  }

  @TempDir static Path directory;

  /** Fails at the pair of that number. */
  private static final class FailingEngine extends MapEngine {
    private final Failure failure;
    private final int goodPairs;
    private final MemorySegment gone;

    FailingEngine(Failure failure, int goodPairs) throws IOException {
      this.failure = failure;
      this.goodPairs = goodPairs;
      this.gone = gone();
      for (int i = 0; i < goodPairs + 20; i++) {
        put(("k" + (1000 + i)).getBytes(US_ASCII), new byte[VALUE_BYTES]);
      }
    }

    /** A file that was cut short after it was mapped. */
    private static MemorySegment gone() throws IOException {
      Path file = Files.createTempFile(directory, "cut", "");
      Files.write(file, new byte[VALUE_BYTES]);
      try (FileChannel channel =
          FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
        MemorySegment mapped =
            channel.map(FileChannel.MapMode.READ_ONLY, 0, VALUE_BYTES, Arena.ofAuto());
        channel.truncate(0);
        return mapped;
      }
    }

    @Override
    public Scan scan(byte[] from, byte[] to) {
      Scan whole = super.scan(from, to);
      return new Scan() {
        private int pairs;

        @Override
        public boolean next() {
          if (pairs++ == goodPairs) {
            switch (failure) {
              case CORRUPT -> throw new CorruptionException("000001.sst: checksum at 4096");
              case INTERNAL -> throw new InternalError("a fault in an unsafe memory access");
              case ENDED -> throw new ScanEndedException("read too slowly");
              case UNREADABLE -> {
                // shows in value()
              }
            }
          }
          return whole.next();
        }

        @Override
        public MemorySegment key() {
          return whole.key();
        }

        @Override
        public MemorySegment value() {
          return failure == Failure.UNREADABLE && pairs == goodPairs + 1 ? gone : whole.value();
        }

        @Override
        public void close() {
          whole.close();
          if (failure == Failure.INTERNAL) {
            throw new InternalError("and the scan cannot be closed either");
          }
        }
      };
    }
  }

  static Stream<String> variants() {
    return Variants.all().stream().map(Variants.Entry::name);
  }

  private static final String RANGE = ConformanceCases.request("GET", "/v0/entities?start=k", "");

  @ParameterizedTest
  @MethodSource("variants")
  void aFailureAfterTheFirstPartEndsTheConnectionWithoutTheLastChunk(String variant)
      throws IOException {
    for (Failure failure : Failure.values()) {
      for (int goodPairs : List.of(FIRST_PART + 1, 900)) {
        FailingEngine engine = new FailingEngine(failure, goodPairs);
        try (TestServer server = new TestServer(variant, engine);
            RawClient other = server.connect()) {
          int cuts =
              goodPairs < 100 && failure == Failure.INTERNAL
                  ? 20
                  : 2; // often more than there are workers
          for (int i = 0; i < cuts; i++) {
            try (RawClient client = server.connect()) {
              client.send(RANGE);
              assertThrows(EOFException.class, client::read);
            }
          }
          checkNothingIsLeft(engine, server, cuts);
          assertEquals(404, other.exchange(ConformanceCases.get("id=x")).status());
        }
      }
    }
  }

  @ParameterizedTest
  @MethodSource("variants")
  void aFailureBeforeTheFirstByteIsA500Or503AndTheConnectionStays(String variant)
      throws IOException {
    for (Failure failure : Failure.values()) {
      for (int goodPairs = 0; goodPairs < FIRST_PART; goodPairs++) {
        FailingEngine engine = new FailingEngine(failure, goodPairs);
        try (TestServer server = new TestServer(variant, engine);
            RawClient client = server.connect()) {
          for (int i = 0; i < 3; i++) {
            checkRefused(failure, client.exchange(RANGE));
            assertEquals(404, client.exchange(ConformanceCases.get("id=x")).status());
          }
          checkNothingIsLeft(engine, server, 0);
        }
      }
    }
  }

  @Test
  void anEndedScanIsNotReportedAsAStorageError() throws IOException {
    Path log = Path.of(System.getProperty("org.slf4j.simpleLogger.logFile"));
    FailingEngine engine = new FailingEngine(Failure.ENDED, 900);
    long before;
    try (TestServer server = new TestServer("sync", engine);
        RawClient client = server.connect()) {
      before = Files.size(log);
      client.send(RANGE);
      assertThrows(EOFException.class, client::read);
    }
    List<String> lines;
    try (InputStream in = Files.newInputStream(log)) {
      in.skipNBytes(before);
      String text = new String(in.readAllBytes(), UTF_8);
      lines = text.lines().filter(line -> line.contains("] Exchange - ")).toList();
    }
    assertEquals(1, lines.size(), lines.toString());
    assertTrue(lines.getFirst().contains("[INFO]"), lines.toString());
    assertTrue(
        lines.getFirst().endsWith(" a range was cut off: read too slowly"), lines.toString());
  }

  private static void checkRefused(Failure failure, RawClient.Response response) {
    if (failure == Failure.ENDED) {
      assertEquals(503, response.status());
      assertEquals("read too slowly\n", response.body());
      assertEquals("1", response.headers().get("retry-after"));
    } else {
      assertEquals(500, response.status());
      assertTrue(response.body().contains("internal error"), response.body());
    }
  }

  private static void checkNothingIsLeft(FailingEngine engine, TestServer server, int cuts) {
    Eventually.equal(0, engine.openScans::get, "open scans");
    Eventually.equal(0, () -> (int) server.server().responseMemory().held(), "bytes held");
    Eventually.equal(1, () -> server.metrics.connections().get(), "connections");
    Eventually.equal(cuts, () -> (int) server.metrics.rangesCutOff(), "ranges cut off");
  }
}
