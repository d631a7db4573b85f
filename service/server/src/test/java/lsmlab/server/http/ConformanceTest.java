package lsmlab.server.http;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.SocketException;
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

  static void check(TestServer server, ConformanceCases.Case which, boolean byteByByte)
      throws IOException {
    try (RawClient client = server.connect()) {
      sendAll(client, which.bytes(), byteByByte);
      checkReplies(client, which, byteByByte, "");
    }
  }

  private static void checkReplies(
      RawClient client, ConformanceCases.Case which, boolean inPieces, String how)
      throws IOException {
    List<Integer> statuses = new ArrayList<>();
    for (int i = 0; i < which.statuses().size(); i++) {
      RawClient.Response response = client.read();
      if (inPieces && response.status() == 100 && which.statuses().get(i) != 100) {
        response = client.read(); // a 100 Continue comes first if the body lags behind its head
      }
      statuses.add(response.status());
      boolean last = i == which.statuses().size() - 1;
      assertEquals(
          last && !which.open(),
          "close".equals(response.headers().get("connection")),
          () -> which + how + ": says close");
      if (response.status() >= 400 && response.status() != 404) {
        assertTrue(response.body().endsWith("\n"), () -> which + how + ": says what was wrong");
      }
    }
    assertEquals(which.statuses(), statuses, () -> which + how);
    if (which.statuses().equals(List.of(100))) {
      assertEquals(201, client.exchange("xy").status());
    }
    if (which.open()) {
      int status = client.exchange(ConformanceCases.get("id=empty")).status();
      assertEquals(200, status, () -> which + how + ": goes on");
    } else {
      assertTrue(client.isClosedByPeer(), () -> which + how + ": closes");
    }
  }

  private static void sendAll(RawClient client, String bytes, boolean byteByByte)
      throws IOException {
    int piece = byteByByte ? 1 : bytes.length();
    try {
      for (int at = 0; at < bytes.length(); at += piece) {
        client.send(bytes.substring(at, at + piece));
      }
    } catch (SocketException e) {
      // the server has answered and closed before the end of the refused request
    }
  }

  /**
   * Every case cut in two at every byte. An exchange on another connection of the same selector separates the two
   * parts, so that the first is read alone; the test depends on no time.
   */
  @Test
  void answersTheSameCutAtEveryByte() throws IOException {
    MapEngine engine = new MapEngine();
    try (TestServer server = new TestServer("sync", engine);
        RawClient first = server.connect();
        RawClient second = server.connect()) {
      for (ConformanceCases.Case which : ConformanceCases.all()) {
        String bytes = which.bytes();
        for (int cut = 1; cut < Math.min(bytes.length(), 400); cut++) {
          engine.pairs.clear();
          engine.put("k".getBytes(US_ASCII), "value".getBytes(US_ASCII));
          engine.put("empty".getBytes(US_ASCII), new byte[0]);
          try (RawClient client = server.connect()) {
            client.send(bytes.substring(0, cut));
            first.exchange(ConformanceCases.get("id=empty"));
            second.exchange(ConformanceCases.get("id=empty"));
            sendAll(client, bytes.substring(cut), false);
            checkReplies(client, which, true, " cut at " + cut);
          }
        }
      }
    }
  }

  @Test
  void aBodyShorterThanDeclaredIsNotStored() throws IOException {
    TestServer server = server("queue");
    try (RawClient client = server.connect()) {
      client.send(ConformanceCases.put("id=short", "value").replace("th: 5", "th: 6"));
      client.shutdownOutput();
      assertTrue(client.isClosedByPeer(), "there is no response to a request that never ends");
    }
    try (RawClient client = server.connect()) {
      assertEquals(404, client.exchange(ConformanceCases.get("id=short")).status());
    }
  }

  @Test
  void aHeadThatNeverEndsIsNotAnswered() throws IOException {
    try (RawClient client = server("queue").connect()) {
      client.send("GET /v0/entity?id=k HTTP/1.1\r\nHost: h\r\n");
      client.shutdownOutput();
      assertTrue(client.isClosedByPeer());
    }
  }

  @Test
  void rangesAreInOrderAndTheEndIsExclusive() throws IOException {
    try (RawClient client = server("sync").connect()) {
      for (String key : new String[] {"b", "a", "c", "%C3%A9", "aa"}) {
        assertEquals(201, client.exchange(ConformanceCases.put("id=" + key, "v")).status());
      }
      assertEquals("a\nvaa\nv", range(client, "start=a&end=b"));
      assertEquals("", range(client, "start=x&end=a"));
      assertEquals("", range(client, "start=a&end=a"));
      assertEquals("c\nvempty\nk\nvalue\u00c3\u00a9\nv", range(client, "start=c"));
      assertEquals("\u00c3\u00a9\nv", range(client, "start=l"));
    }
  }

  private static String range(RawClient client, String query) throws IOException {
    return client.exchange(ConformanceCases.request("GET", "/v0/entities?" + query, "")).body();
  }

  @Test
  void thereAreAtLeastEightyCases() {
    assertTrue(ConformanceCases.all().size() >= 80, ConformanceCases.all().size() + " cases");
  }

  @Test
  void responsesHaveTheValueAndNoMore() throws IOException {
    try (RawClient client = server("sync").connect()) {
      assertEquals("value", client.exchange(ConformanceCases.get("id=k")).body());
      assertEquals("", client.exchange(ConformanceCases.get("id=empty")).body());
      client.exchange(ConformanceCases.put("id=%00%C3%A9", "\r\n\u0000\u00ff"));
      assertEquals(
          "\r\n\u0000\u00ff", client.exchange(ConformanceCases.get("id=%00%c3%a9")).body());
      RawClient.Response refused =
          client.exchange(ConformanceCases.request("POST", "/v0/entity", ""));
      assertEquals("GET, HEAD, PUT, DELETE", refused.headers().get("allow"));
    }
  }

  @Test
  void valuesAreBytesToABrowserWhateverTheyHold() throws IOException {
    try (RawClient client = server("sync").connect()) {
      client.exchange(ConformanceCases.put("id=page", "<script>alert(1)</script>"));
      for (RawClient.Response response :
          List.of(
              client.exchange(ConformanceCases.get("id=page")),
              client.exchange(ConformanceCases.request("GET", "/v0/entities?start=page", "")),
              client.send(head("/v0/entity?id=page")).read(true))) {
        assertEquals("application/octet-stream", response.headers().get("content-type"));
        assertEquals("nosniff", response.headers().get("x-content-type-options"));
      }
    }
  }

  @Test
  void headIsAGetWithoutTheBody() throws IOException {
    try (RawClient client = server("sync").connect()) {
      RawClient.Response there = client.send(head("/v0/entity?id=k")).read(true);
      assertEquals(200, there.status());
      assertEquals("5", there.headers().get("content-length"));
      assertEquals(404, client.send(head("/v0/entity?id=absent")).read(true).status());
      assertEquals(400, client.send(head("/v0/entity")).read(true).status());
      RawClient.Response range = client.send(head("/v0/entities?start=a")).read(true);
      assertEquals(200, range.status());
      assertEquals("chunked", range.headers().get("transfer-encoding"));
      client.send(ConformanceCases.request("HEAD", "/v0/entity?id=k", "Connection: close\r\n"));
      String all = client.readToEnd();
      assertTrue(all.startsWith("HTTP/1.1 200 "), all);
      assertTrue(all.endsWith("\r\n\r\n"), all);
    }
  }

  private static String head(String target) {
    return ConformanceCases.request("HEAD", target, "");
  }
}
