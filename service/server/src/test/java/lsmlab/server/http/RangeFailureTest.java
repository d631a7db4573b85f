package lsmlab.server.http;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.stream.Stream;
import lsmlab.server.variant.Variants;
import lsmlab.storage.CorruptionException;
import lsmlab.storage.Scan;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** A range whose storage fails after its head has been sent: the client must not take the part for the whole. */
class RangeFailureTest {

  /** Fails at the pair of that number. */
  private static final class FailingEngine extends MapEngine {
    private final int goodPairs;

    FailingEngine(int goodPairs) {
      this.goodPairs = goodPairs;
      for (int i = 0; i < 1000; i++) {
        put(("k" + (1000 + i)).getBytes(US_ASCII), new byte[10_000]);
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
            throw new CorruptionException("000001.sst: checksum at 4096");
          }
          return whole.next();
        }

        @Override
        public MemorySegment key() {
          return whole.key();
        }

        @Override
        public MemorySegment value() {
          return whole.value();
        }

        @Override
        public void close() {
          whole.close();
        }
      };
    }
  }

  static Stream<String> variants() {
    return Variants.all().stream().map(Variants.Entry::name);
  }

  @ParameterizedTest
  @MethodSource("variants")
  void endsTheConnectionWithoutTheLastChunk(String variant) throws IOException {
    for (int goodPairs : new int[] {1, 900}) {
      FailingEngine engine = new FailingEngine(goodPairs);
      try (TestServer server = new TestServer(variant, engine);
          RawClient other = server.connect();
          RawClient client = server.connect()) {
        client.send(ConformanceCases.request("GET", "/v0/entities?start=k", ""));
        assertThrows(EOFException.class, client::read);
        Eventually.equal(0, engine.openScans::get, "open scans");
        Eventually.equal(0, () -> (int) server.server().replyMemory().get(), "bytes held");
        assertEquals(404, other.exchange(ConformanceCases.get("id=x")).status());
      }
    }
  }
}
