package lsmlab.server.http;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import lsmlab.server.variant.Variants;
import lsmlab.storage.ValueSink;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Every input gets the expected response. */
class HttpFuzzTest {

  private static final long SEED = Long.getLong("fuzz.seed", 1);

  @ParameterizedTest
  @ValueSource(strings = {"sync", "queue", "virtual-threads"})
  void everyInputGetsTheStatedResponse(String variant) throws IOException {
    try (HttpFuzzer fuzzer = new HttpFuzzer(variant, new MapEngine())) {
      fuzzer.run(SEED, 3_000);
    }
  }

  @Test
  void aWrongResponseIsFound() throws IOException {
    MapEngine cutsValues =
        new MapEngine() {
          @Override
          public boolean get(byte[] key, int keyOffset, int keyLength, ValueSink sink) {
            return super.get(
                key,
                keyOffset,
                keyLength,
                (source, offset, length) ->
                    sink.accept(source, offset, length > 1 ? length - 1 : length));
          }
        };
    try (HttpFuzzer fuzzer = new HttpFuzzer("queue", cutsValues)) {
      assertThrows(AssertionError.class, () -> fuzzer.run(SEED, 3_000));
    }
  }

  /** Inputs: -Dfuzz.inputs, a million by default, over all variants. Seed: -Dfuzz.seed. */
  @Test
  @Tag("slow")
  void aMillionInputsOverAllVariants() throws Exception {
    long inputs = Long.getLong("fuzz.inputs", 1_000_000) / Variants.all().size() + 1;
    long filesBefore = openFiles();
    try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
      List<Future<String>> campaigns = new ArrayList<>();
      for (int i = 0; i < Variants.all().size(); i++) {
        String variant = Variants.all().get(i).name();
        long seed = (SEED * 1000 + i) * 1_000_000_000;
        campaigns.add(threads.submit(() -> campaign(variant, seed, inputs)));
      }
      for (Future<String> campaign : campaigns) {
        System.out.println(campaign.get());
      }
    }
    long left = openFiles() - filesBefore;
    System.out.println("file descriptors left open: " + left);
    assertTrue(left < 50, left + " file descriptors are left open");
  }

  private static String campaign(String variant, long seed, long inputs) throws IOException {
    long began = System.nanoTime();
    try (HttpFuzzer fuzzer = new HttpFuzzer(variant, new MapEngine())) {
      HttpFuzzer.Count count = fuzzer.run(seed, inputs);
      double seconds = (System.nanoTime() - began) / 1e9;
      return "%s: %d inputs on %d connections, %.1f s, from seed %dL"
          .formatted(variant, count.inputs(), count.connections(), seconds, seed);
    }
  }

  private static long openFiles() throws IOException {
    try (Stream<Path> files = Files.list(Path.of("/proc/self/fd"))) {
      return files.count();
    }
  }
}
