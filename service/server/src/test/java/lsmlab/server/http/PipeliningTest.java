package lsmlab.server.http;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import lsmlab.server.variant.VariantSettings;
import lsmlab.server.variant.Variants;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Pipelines of any depth: every variant answers every request, in order. */
class PipeliningTest {

  private static final int RECEIVE_BUFFER_BYTES = 256 * 1024;

  static Stream<String> variants() {
    return Variants.all().stream().map(Variants.Entry::name);
  }

  @ParameterizedTest
  @MethodSource("variants")
  void responsesAndRejectionsKeepTheirOrder(String variant) throws IOException {
    MapEngine engine = new MapEngine();
    StringBuilder bytes = new StringBuilder();
    for (int i = 0; i < 1000; i++) {
      engine.put(("k" + i).getBytes(US_ASCII), ("value " + i).getBytes(US_ASCII));
      bytes.append(ConformanceCases.get("id=k" + i));
    }
    VariantSettings settings = new VariantSettings(1, 1, 60_000_000_000L);
    try (TestServer server = new TestServer(variant, engine, settings, 10);
        RawClient client = server.connect();
        RawClient other = server.connect()) {
      client.send(bytes.toString());
      other.send(bytes.toString());
      for (int i = 0; i < 1000; i++) {
        for (RawClient each : List.of(client, other)) {
          RawClient.Response response = each.read();
          String expected = response.status() == 503 ? "503 " : "200 value " + i;
          assertEquals(expected, response.status() + " " + response.body(), "response " + i);
        }
      }
    }
  }

  @ParameterizedTest
  @MethodSource("variants")
  void responsesArriveInOrder(String variant) throws Exception {
    try (TestServer server = new TestServer(variant, new MapEngine());
        ExecutorService clients = Executors.newFixedThreadPool(4)) {
      List<Future<Void>> all = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        int seed = i;
        all.add(clients.submit((Callable<Void>) () -> converse(server, seed)));
      }
      for (Future<Void> each : all) {
        each.get();
      }
    }
  }

  /** Sends 3,000 requests without waiting and compares each response with a map. */
  private static Void converse(TestServer server, int seed) throws IOException {
    Random random = new Random(seed);
    Map<String, String> model = new HashMap<>();
    StringBuilder bytes = new StringBuilder();
    List<String> expected = new ArrayList<>();
    for (int i = 0; i < 3_000; i++) {
      String key = seed + "-" + random.nextInt(20);
      switch (random.nextInt(5)) {
        case 0, 1 -> {
          String value = "v".repeat(random.nextInt(300)) + i;
          bytes.append(ConformanceCases.put("id=" + key, value));
          model.put(key, value);
          expected.add("201 ");
        }
        case 2 -> {
          bytes.append(ConformanceCases.request("DELETE", "/v0/entity?id=" + key, ""));
          model.remove(key);
          expected.add("202 ");
        }
        case 3 -> {
          bytes.append(ConformanceCases.get("id=" + key));
          expected.add(model.containsKey(key) ? "200 " + model.get(key) : "404 ");
        }
        default -> {
          String range = "/v0/entities?start=" + key + "&end=" + key + "%00";
          bytes.append(ConformanceCases.request("GET", range, ""));
          expected.add("200 " + (model.containsKey(key) ? key + "\n" + model.get(key) : ""));
        }
      }
    }
    try (RawClient client = server.connect()) {
      Thread sender =
          Thread.ofVirtual()
              .start(
                  () -> {
                    try {
                      client.send(bytes.toString());
                    } catch (IOException e) {
                      throw new java.io.UncheckedIOException(e);
                    }
                  });
      for (int i = 0; i < expected.size(); i++) {
        RawClient.Response response = client.read();
        assertEquals(expected.get(i), response.status() + " " + response.body(), "response " + i);
      }
      sender.join();
    } catch (InterruptedException e) {
      throw new IOException(e);
    }
    return null;
  }

  @ParameterizedTest
  @MethodSource("variants")
  void aClientThatHalfClosesGetsAllItsResponses(String variant) throws IOException {
    try (TestServer server = new TestServer(variant, new MapEngine())) {
      for (int round = 0; round < 30; round++) {
        try (RawClient client = server.connect()) {
          client.send(ConformanceCases.get("id=absent").repeat(100));
          client.shutdownOutput();
          for (int i = 0; i < 100; i++) {
            assertEquals(404, client.read().status());
          }
          assertTrue(client.isClosedByPeer());
        }
      }
    }
  }

  @ParameterizedTest
  @MethodSource("variants")
  void aClientThatHalfClosesAndReadsLateGetsAllItsResponses(String variant) throws IOException {
    MapEngine engine = new MapEngine();
    String large = "x".repeat(1_000_000);
    engine.put("large".getBytes(US_ASCII), large.getBytes(US_ASCII));
    // More than the kernel takes for a client that does not read, so the response is sent in part.
    String huge = "y".repeat(16_000_000);
    engine.put("huge".getBytes(US_ASCII), huge.getBytes(US_ASCII));
    try (TestServer server = new TestServer(variant, engine);
        RawClient client = new RawClient(server.port(), RECEIVE_BUFFER_BYTES)) {
      String value = ConformanceCases.get("id=large");
      String range = ConformanceCases.request("GET", "/v0/entities?start=i", "");
      String refused = ConformanceCases.get("id=");
      client.send(ConformanceCases.get("id=huge") + (value + range + refused + value).repeat(10));
      client.shutdownOutput();
      Eventually.equal(
          1,
          () -> server.server().responseMemory().held() > 0 ? 1 : 0,
          "responses wait for their reader");
      assertEquals(huge, client.read().body(), "huge value");
      for (int i = 0; i < 10; i++) {
        assertEquals(large, client.read().body(), "value");
        assertEquals("large\n" + large, client.read().body(), "range");
        assertEquals(400, client.read().status());
        assertEquals(large, client.read().body(), "value after what was refused");
      }
      assertTrue(client.isClosedByPeer());
    }
  }

  @ParameterizedTest
  @MethodSource("variants")
  void clientsThatDieLeaveNothingBehind(String variant) throws Exception {
    MapEngine engine = new MapEngine();
    try (TestServer server = new TestServer(variant, engine)) {
      String large = "x".repeat(300_000);
      try (RawClient client = server.connect()) {
        assertEquals(201, client.exchange(ConformanceCases.put("id=large", large)).status());
      }
      for (int i = 0; i < 60; i++) {
        RawClient client = server.connect();
        switch (i % 4) {
          case 0 -> client.send(ConformanceCases.get("id=large").repeat(20));
          case 1 -> client.send("GET /v0/ent");
          case 2 -> client.send(ConformanceCases.put("id=x", large).substring(0, 200_000));
          default ->
              client.send(ConformanceCases.request("GET", "/v0/entities?start=a", "").repeat(20));
        }
        client.reset();
      }
      Eventually.equal(0, () -> server.metrics.connections().get(), "connections");
      Eventually.equal(0, engine.openScans::get, "open scans");
      Eventually.equal(
          0, () -> (int) server.server().responseMemory().held(), "bytes of responses held");
      Eventually.equal(
          0, () -> (int) server.server().requestMemory().held(), "bytes of requests held");
      try (RawClient client = server.connect()) {
        RawClient.Response response = client.exchange(ConformanceCases.get("id=large"));
        assertTrue(
            response.status() == 503 || response.body().equals(large),
            "status " + response.status());
      }
    }
  }
}
