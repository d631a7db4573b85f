package lsmlab.server.http;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import lsmlab.server.variant.VariantSettings;
import org.junit.jupiter.api.Test;

/** Writes that arrive together on one selector thread are done together, and nobody can tell but by the clock. */
class WritesOfATurnTest {

  private final GatedEngine engine = new GatedEngine();

  private TestServer start() throws IOException {
    VariantSettings settings = new VariantSettings(1, 16, TimeUnit.SECONDS.toNanos(60));
    return new TestServer("sync", engine, settings, 1000, TestServer.MAX_VALUE_BYTES, 1);
  }

  @Test
  void theyAreDoneTogetherAndEachIsAnswered() throws Exception {
    try (TestServer server = start()) {
      List<String> requests = new ArrayList<>();
      for (int i = 0; i < 10; i++) {
        requests.add(ConformanceCases.put("id=k" + i, "value" + i));
      }
      requests.add(ConformanceCases.request("DELETE", "/v0/entity?id=absent", ""));
      List<RawClient> clients = engine.inOneTurn(server, requests);
      for (int i = 0; i < 10; i++) {
        assertEquals(201, clients.get(i).read().status());
      }
      assertEquals(202, clients.get(10).read().status());
      assertEquals(List.of(11), engine.sizes);
      for (int i = 0; i < 10; i++) {
        RawClient.Reply reply = clients.get(i).exchange(ConformanceCases.get("id=k" + i));
        assertEquals("value" + i, reply.body());
        clients.get(i).close();
      }
    }
  }

  @Test
  void onlyThoseThatFailAreAnsweredSo() throws Exception {
    try (TestServer server = start()) {
      List<String> keys = List.of("a", "overloaded", "b", "readonly", "error", "c");
      List<Integer> expected = List.of(201, 503, 201, 503, 500, 201);
      List<RawClient> clients =
          engine.inOneTurn(
              server, keys.stream().map(key -> ConformanceCases.put("id=" + key, "v")).toList());
      for (int i = 0; i < keys.size(); i++) {
        assertEquals(expected.get(i), clients.get(i).read().status(), keys.get(i));
      }
      assertEquals(List.of(6), engine.sizes);
      assertEquals(3, engine.pairs.size());
      for (RawClient client : clients) {
        assertEquals(404, client.exchange(ConformanceCases.get("id=x")).status(), "it goes on");
        client.close();
      }
    }
  }

  @Test
  void aReplyThatIsReadyDoesNotWaitForThem() throws Exception {
    try (TestServer server = start()) {
      engine.gate.drainPermits();
      List<RawClient> clients =
          engine.inOneTurn(
              server, List.of(ConformanceCases.put("id=k", "v"), ConformanceCases.get("id=k")));
      engine.writing.acquire();
      assertEquals(404, clients.get(1).read().status(), "not written yet");
      assertTrue(engine.pairs.isEmpty());
      engine.gate.release(1000);
      assertEquals(201, clients.get(0).read().status());
      assertEquals("v", clients.get(1).exchange(ConformanceCases.get("id=k")).body());
      for (RawClient client : clients) {
        client.close();
      }
    }
  }

  @Test
  void aPipelinesNextRequestSeesTheWriteBeforeIt() throws Exception {
    try (TestServer server = start()) {
      StringBuilder pipeline = new StringBuilder();
      int rounds = 50;
      for (int i = 0; i < rounds; i++) {
        pipeline.append(ConformanceCases.put("id=k", "value" + i));
        pipeline.append(ConformanceCases.get("id=k"));
      }
      String others = ConformanceCases.put("id=l", "other").repeat(2 * rounds);
      List<RawClient> clients = engine.inOneTurn(server, List.of(pipeline.toString(), others));
      for (int i = 0; i < rounds; i++) {
        assertEquals(201, clients.get(0).read().status());
        assertEquals("value" + i, clients.get(0).read().body());
        assertEquals(201, clients.get(1).read().status());
        assertEquals(201, clients.get(1).read().status());
      }
      assertTrue(engine.sizes.contains(2), engine.sizes + ": they never met");
      for (RawClient client : clients) {
        client.close();
      }
    }
  }

  @Test
  void largeOnesDoNotWaitForMoreOfThem() throws Exception {
    try (TestServer server = start()) {
      String large = "x".repeat(60_000); // arrives in one piece
      List<String> requests = new ArrayList<>();
      for (int i = 0; i < 10; i++) {
        requests.add(ConformanceCases.put("id=k" + i, large));
      }
      for (RawClient client : engine.inOneTurn(server, requests)) {
        assertEquals(201, client.read().status());
        client.close();
      }
      assertEquals(10, engine.sizes.stream().mapToInt(size -> size).sum());
      assertTrue(engine.sizes.stream().allMatch(size -> size <= 5), engine.sizes.toString());
      assertEquals(large, new String(engine.pairs.get("k4".getBytes(US_ASCII)), US_ASCII));
    }
  }
}
