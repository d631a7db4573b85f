package lsmlab.server.http;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import lsmlab.server.variant.Variants;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Clients that do not read: the memory they hold is bounded, others do not notice, and nothing is lost when they read
 * again.
 */
class SlowReaderTest {

  static Stream<String> variants() {
    return Variants.all().stream().map(Variants.Entry::name);
  }

  @ParameterizedTest
  @MethodSource("variants")
  void aClientThatDoesNotReadIsNotServedFurther(String variant) throws IOException {
    try (TestServer server = new TestServer(variant, new MapEngine());
        RawClient slow = server.connect();
        RawClient other = server.connect()) {
      String value = "0123456789abcdef".repeat(65_536);
      assertEquals(201, other.exchange(ConformanceCases.put("id=k", value)).status());
      int count = 20;
      slow.send(ConformanceCases.get("id=k").repeat(count));
      for (int i = 0; i < 200; i++) {
        assertEquals(404, other.exchange(ConformanceCases.get("id=x")).status());
        long held = server.server().responseMemory().held();
        assertTrue(held <= value.length() + 200, "bytes held for one connection: " + held);
      }
      for (int i = 0; i < count; i++) {
        assertEquals(value, slow.read().body());
      }
      assertEquals(404, slow.exchange(ConformanceCases.get("id=x")).status());
      assertEquals(0, server.server().responseMemory().held());
    }
  }

  @ParameterizedTest
  @MethodSource("variants")
  void aRangeWaitsForItsReader(String variant) throws IOException {
    MapEngine engine = new MapEngine();
    StringBuilder expected = new StringBuilder();
    String value = "v".repeat(1000);
    for (int i = 10_000; i < 20_000; i++) {
      engine.put(("k" + i).getBytes(US_ASCII), value.getBytes(US_ASCII));
      expected.append('k').append(i).append('\n').append(value);
    }
    String large = "w".repeat(200_000); // more than a buffer
    engine.put("k99999".getBytes(US_ASCII), large.getBytes(US_ASCII));
    expected.append("k99999\n").append(large);
    try (TestServer server = new TestServer(variant, engine);
        RawClient other = server.connect()) {
      List<RawClient> slow = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        RawClient client = server.connect();
        client.send(ConformanceCases.request("GET", "/v0/entities?start=k", "").repeat(2));
        slow.add(client);
      }
      Eventually.equal(3, engine.openScans::get, "open scans");
      for (int i = 0; i < 100; i++) {
        assertEquals(404, other.exchange(ConformanceCases.get("id=x")).status());
      }
      Eventually.equal(
          3 * StreamedRange.BYTES_MAX,
          () -> (int) server.server().responseMemory().held(),
          "bytes held");
      for (RawClient client : slow) {
        assertEquals(expected.toString(), client.read().body());
        assertEquals(expected.toString(), client.read().body());
        assertEquals(404, client.exchange(ConformanceCases.get("id=x")).status());
        client.close();
      }
      Eventually.equal(0, engine.openScans::get, "open scans");
    }
  }

  @Test
  void largeRequestsTogetherHoldNoMoreThanTheirBudget() throws IOException {
    try (TestServer server = new TestServer("sync", new MapEngine());
        RawClient small = server.connect()) {
      LsmHttpServer data = server.server();
      int almostAll = (int) (Runtime.getRuntime().maxMemory() / 8) - 100_000;
      data.requestMemory().hold(almostAll);
      String large = ConformanceCases.put("id=large", "x".repeat(500_000));
      try (RawClient client = server.connect()) {
        RawClient.Response response = client.exchange(large);
        assertEquals(503, response.status());
        assertEquals("1", response.headers().get("retry-after"));
        assertEquals(404, client.exchange(ConformanceCases.get("id=large")).status(), "goes on");
      }
      Eventually.equal(almostAll, () -> (int) data.requestMemory().held(), "bytes held");
      assertEquals(201, small.exchange(ConformanceCases.put("id=k", "v")).status());
      data.requestMemory().release(almostAll);
      try (RawClient client = server.connect()) {
        assertEquals(201, client.exchange(large).status());
      }
      assertEquals(0, data.requestMemory().held());
    }
  }

  @Test
  void clientsThatTakeTooLongAreDisconnected() throws IOException {
    try (TestServer server = new TestServer("sync", new MapEngine());
        RawClient sender = server.connect();
        RawClient idle = server.connect()) {
      long now = Deadlines.now();
      sender.send("GET /v0/entity?id=");
      assertEquals(404, idle.exchange(ConformanceCases.get("id=x")).status());
      server.server().check(now + Deadlines.REQUEST_MILLIS_MAX - 5_000);
      assertEquals(2, server.metrics.connections().get(), "in time");
      // The selector may still have to read the beginning of the request.
      Eventually.equal(
          1,
          () -> {
            server.server().check(now + Deadlines.REQUEST_MILLIS_MAX + 5_000);
            return (int) server.metrics.connections().get();
          },
          "connections");
      assertEquals(408, sender.read().status());
      assertTrue(sender.isClosedByPeer());
      assertEquals(404, idle.exchange(ConformanceCases.get("id=x")).status());
      // Until the selector has finished with the answered request, the connection is not idle.
      Eventually.equal(
          0,
          () -> {
            server.server().check(now + Deadlines.IDLE_MILLIS_MAX + 5_000);
            return (int) server.metrics.connections().get();
          },
          "connections");
      assertTrue(idle.isClosedByPeer());
    }
  }

  @Test
  void aReaderThatTakesNothingIsDisconnected() throws IOException {
    MapEngine engine = new MapEngine();
    try (TestServer server = new TestServer("sync", engine);
        RawClient other = server.connect();
        RawClient slow = new RawClient(server.port(), 256 * 1024)) {
      // More than the kernel buffers for a client that does not read: only a part is sent.
      String value = "x".repeat(16_000_000);
      engine.put("k".getBytes(US_ASCII), value.getBytes(US_ASCII));
      slow.send(ConformanceCases.get("id=k").repeat(3));
      Eventually.equal(
          1, () -> server.server().responseMemory().held() > 0 ? 1 : 0, "a response waits");
      Eventually.equal(
          1,
          () -> {
            server.server().check(Deadlines.now() + Deadlines.READER_MILLIS + 5_000);
            return (int) server.metrics.connections().get();
          },
          "connections");
      Eventually.equal(0, () -> (int) server.server().responseMemory().held(), "bytes held");
      assertEquals(value, other.exchange(ConformanceCases.get("id=k")).body());
    }
  }
}
