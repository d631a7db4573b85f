package lsmlab.server.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import lsmlab.server.http.Eventually;
import lsmlab.server.http.RawClient;
import lsmlab.server.variant.Variants;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** SIGTERM under load: acknowledged writes are kept, and no client is left waiting. */
class StopTest {

  private static final int TRIES_MAX = 20;

  @TempDir Path directory;

  @ParameterizedTest
  @ValueSource(strings = {"sync", "stack"})
  void terminatedUnderLoadItAnswersClosesAndExitsWith0(String variant) throws Exception {
    terminate(variant, 2_000);
  }

  static Stream<String> variants() {
    return Variants.all().stream().map(Variants.Entry::name);
  }

  @ParameterizedTest
  @Tag("slow")
  @MethodSource("variants")
  void everyVariantTerminatedUnderLoadLosesNothing(String variant) throws Exception {
    for (int round = 0; round < 3; round++) {
      System.out.println(terminate(variant, 5_000 + 10_000 * round));
      try (Stream<Path> files = Files.walk(directory.resolve("store"))) {
        for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
          Files.delete(file);
        }
      }
    }
  }

  /** Clients with one request at a time, clients that pipeline, and clients that reconnect, when SIGTERM arrives. */
  private String terminate(String variant, int afterAcknowledged) throws Exception {
    StopLoad load;
    String[] config = {"variant: " + variant, "flush_threshold_bytes: 200000"};
    long stopMillis;
    try (ServiceProcess service = ServiceProcess.serve(directory, config)) {
      load = new StopLoad(service, 4).start(service, 2, 32, false).start(service, 2, 4, true);
      Eventually.equal(
          1, () -> load.acknowledged.get() > afterAcknowledged ? 1 : 0, "acknowledged writes");
      long began = System.nanoTime();
      service.terminate();
      assertEquals(0, service.exitCode(), service.errors());
      stopMillis = (System.nanoTime() - began) / 1_000_000;
      load.join();
    }
    assertEquals(List.of(), load.failures);
    assertEquals(load.clients(), load.ended.get(), "every client's connection was closed");
    checkAllThere(load, config);
    return "%s: %d writes acknowledged, all kept; stopped in %d ms"
        .formatted(variant, load.acknowledged.get(), stopMillis);
  }

  private void checkAllThere(StopLoad load, String... config) throws IOException {
    try (ServiceProcess service = ServiceProcess.serve(directory, config);
        RawClient client = service.connect()) {
      for (var entry : load.written.entrySet()) {
        StopLoad.Written written = entry.getValue();
        RawClient.Response response = get(client, entry.getKey());
        if (response.status() == 404) {
          assertEquals(0, written.acknowledged(), entry.getKey() + " is lost");
          continue;
        }
        assertEquals(200, response.status(), entry.getKey());
        String body = response.body();
        boolean last = body.equals(StopLoad.value(written.sent()));
        boolean acknowledged = body.equals(StopLoad.value(written.acknowledged()));
        assertTrue(last || acknowledged, entry.getKey() + " has " + body + ", not " + written);
      }
    }
  }

  /** Asks again when refused: on a busy machine even a single request can miss the deadline of {@code priority}. */
  private static RawClient.Response get(RawClient client, String key) throws IOException {
    RawClient.Response response;
    int tries = 0;
    do {
      response = client.exchange("GET /v0/entity?id=" + key + " HTTP/1.1\r\nHost: h\r\n\r\n");
    } while (response.status() == 503 && ++tries < TRIES_MAX);
    return response;
  }
}
