package lsmlab.server.http;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import lsmlab.server.variant.Variants;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Every case of {@link ConformanceCases}, over a socket, for every variant, whole and byte by byte. */
class ConformanceTest {

  private static final Map<String, TestServer> SERVERS = new TreeMap<>();
  private static final Map<String, MapEngine> ENGINES = new TreeMap<>();

  @AfterAll
  static void stop() {
    SERVERS.values().forEach(TestServer::close);
    SERVERS.clear();
  }

  private static synchronized TestServer server(String variant) throws IOException {
    if (!SERVERS.containsKey(variant)) {
      ENGINES.put(variant, new MapEngine());
      SERVERS.put(variant, new TestServer(variant, ENGINES.get(variant)));
    }
    MapEngine engine = ENGINES.get(variant);
    engine.pairs.clear();
    engine.put("k".getBytes(US_ASCII), "value".getBytes(US_ASCII));
    engine.put("empty".getBytes(US_ASCII), new byte[0]);
    return SERVERS.get(variant);
  }

  @TestFactory
  Stream<DynamicTest> answersEveryCaseAsStated() {
    return Variants.all().stream()
        .flatMap(
            variant ->
                ConformanceCases.all().stream()
                    .map(
                        which ->
                            DynamicTest.dynamicTest(
                                variant.name() + ": " + which.name(),
                                () -> check(server(variant.name()), which, false))));
  }

  @TestFactory
  Stream<DynamicTest> answersTheSameByteByByte() {
    return ConformanceCases.all().stream()
        .filter(which -> which.bytes().length() < 1000)
        .flatMap(
            which ->
                Stream.of("sync", "queue")
                    .map(
                        variant ->
                            DynamicTest.dynamicTest(
                                variant + ": " + which.name(),
                                () -> check(server(variant), which, true))));
  }

  private static void check(TestServer server, ConformanceCases.Case which, boolean byteByByte)
      throws IOException {
    try (RawClient client = server.connect()) {
      sendAll(client, which.bytes(), byteByByte);
      List<Integer> statuses = new ArrayList<>();
      for (int i = 0; i < which.statuses().size(); i++) {
        RawClient.Reply reply = client.read();
        if (byteByByte && reply.status() == 100 && which.statuses().get(i) != 100) {
          reply = client.read(); // leave is given where the body lags behind its head
        }
        statuses.add(reply.status());
        boolean last = i == which.statuses().size() - 1;
        assertEquals(
            last && !which.open(), "close".equals(reply.headers().get("connection")), "says close");
        if (reply.status() >= 400 && reply.status() != 404) {
          assertTrue(reply.body().endsWith("\n"), "an error says what was wrong");
        }
      }
      assertEquals(which.statuses(), statuses);
      if (which.statuses().equals(List.of(100))) {
        assertEquals(201, client.exchange("xy").status());
      }
      if (which.open()) {
        assertEquals(200, client.exchange(ConformanceCases.get("id=empty")).status(), "goes on");
      } else {
        assertTrue(client.isClosedByPeer(), "closes");
      }
    }
  }

  private static void sendAll(RawClient client, String bytes, boolean byteByByte)
      throws IOException {
    if (!byteByByte) {
      client.send(bytes);
      return;
    }
    for (int i = 0; i < bytes.length(); i++) {
      try {
        client.send(bytes.substring(i, i + 1));
      } catch (java.net.SocketException e) {
        return; // the server has answered and closed before the end of what it refuses
      }
      Thread.onSpinWait();
    }
  }

  @Test
  void thereAreAtLeastEightyCases() {
    assertTrue(ConformanceCases.all().size() >= 80, ConformanceCases.all().size() + " cases");
  }

  @Test
  void repliesHaveTheValueAndNoMore() throws IOException {
    try (RawClient client = server("sync").connect()) {
      assertEquals("value", client.exchange(ConformanceCases.get("id=k")).body());
      assertEquals("", client.exchange(ConformanceCases.get("id=empty")).body());
      client.exchange(ConformanceCases.put("id=%00%C3%A9", "\r\n\u0000\u00ff"));
      assertEquals(
          "\r\n\u0000\u00ff", client.exchange(ConformanceCases.get("id=%00%c3%a9")).body());
      RawClient.Reply refused = client.exchange(ConformanceCases.request("POST", "/v0/entity", ""));
      assertEquals("GET, PUT, DELETE", refused.headers().get("allow"));
    }
  }

  @Test
  void headGetsNoBody() throws IOException {
    try (RawClient client = server("sync").connect()) {
      client.send(ConformanceCases.request("HEAD", "/v0/entity?id=k", "Connection: close\r\n"));
      String all = client.readToEnd();
      assertTrue(all.startsWith("HTTP/1.1 405 "), all);
      assertTrue(all.endsWith("\r\n\r\n"), all);
    }
  }
}
