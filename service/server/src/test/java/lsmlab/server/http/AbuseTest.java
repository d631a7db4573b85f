package lsmlab.server.http;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import lsmlab.server.variant.VariantSettings;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Hostile clients: the connection of each ends, and other clients notice nothing. */
class AbuseTest {

  private static final String TARGET = "/v0/entity?id=k";

  /** The start of a request, after which the client sends one byte now and then, for ever. */
  private record Drip(String name, String beginning, String byteNowAndThen) {}

  private static final List<Drip> DRIPS =
      List.of(
          new Drip("a request line", "GET /v0/entity?id=", "a"),
          new Drip("headers", "GET " + TARGET + " HTTP/1.1\r\n", "X: y\r\n"),
          new Drip("a value", put(1000), "v"),
          new Drip("a GET's body", request("GET", 1000), "x"),
          new Drip("a value after its 413", put(2_000_000), "v"),
          new Drip("a body after a 405", request("POST", 1000), "x"),
          new Drip("a body after a 400", put(1000).replace("?id=k", "?id="), "v"),
          new Drip("empty lines", "\r\n", "\r\n"));

  private static String request(String method, int bytes) {
    return ConformanceCases.request(method, TARGET, "Content-Length: " + bytes + "\r\n");
  }

  private static String put(int bytes) {
    return request("PUT", bytes);
  }

  @TestFactory
  Stream<DynamicTest> aRequestThatArrivesByteByByteEndsAtItsTimeLimit() {
    return DRIPS.stream().map(drip -> DynamicTest.dynamicTest(drip.name(), () -> endsInTime(drip)));
  }

  private static void endsInTime(Drip drip) throws IOException {
    try (TestServer server = new TestServer("sync", new MapEngine());
        RawClient client = server.connect()) {
      long began = Deadlines.now();
      client.send(drip.beginning());
      Eventually.equal(1, () -> server.metrics.connections().get(), "connections");
      for (int i = 0;
          i < 5;
          i++) { // each would restart the time limit if it counted from the last byte
        client.send(drip.byteNowAndThen());
        Eventually.equal(0, () -> unread(server), "bytes not read");
      }
      server.server().check(began - 5_000 + Deadlines.REQUEST_MILLIS_MAX);
      Eventually.equal(1, () -> server.metrics.connections().get(), "connections in time");
      // Half of the connection is closed at first, and the rest after it has lingered.
      long late = Deadlines.now() + 2 * Deadlines.REQUEST_MILLIS_MAX;
      Eventually.equal(
          0,
          () -> {
            server.server().check(late);
            return server.metrics.connections().get();
          },
          "connections");
      client.readToEnd();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"sync", "queue"})
  void theStartOfAPipelinedRequestHasATimeLimitToo(String variant) throws IOException {
    try (TestServer server = new TestServer(variant, new MapEngine());
        RawClient client = server.connect()) {
      client.send(ConformanceCases.get("id=absent") + "GET /v0/entity?id=");
      assertEquals(404, client.read().status());
      Eventually.equal(
          0,
          () -> {
            long late = Deadlines.now() + Deadlines.REQUEST_MILLIS_MAX + 5_000;
            server.server().check(late);
            return server.metrics.connections().get();
          },
          "connections");
      assertEquals(408, client.read().status());
    }
  }

  /** The server cannot report what it has read, but a later exchange on the same selectors shows it. */
  private static int unread(TestServer server) {
    try (RawClient one = server.connect();
        RawClient other = server.connect()) {
      assertEquals(404, one.exchange(ConformanceCases.get("id=absent")).status());
      assertEquals(404, other.exchange(ConformanceCases.get("id=absent")).status());
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
    return 0;
  }

  @Test
  void aReaderThatTakesAByteNowAndThenIsDisconnected() throws IOException {
    MapEngine engine = new MapEngine();
    for (int i = 0; i < 200; i++) {
      engine.put(("k" + (1000 + i)).getBytes(US_ASCII), new byte[100_000]);
    }
    try (TestServer server = new TestServer("queue", engine);
        RawClient slow = new RawClient(server.port(), 8 * 1024)) {
      slow.send(ConformanceCases.request("GET", "/v0/entities?start=k", ""));
      Eventually.equal(
          1, () -> server.server().responseMemory().held() > 0 ? 1 : 0, "a range that waits");
      long[] now = {Deadlines.now()};
      Eventually.equal(
          0,
          () -> {
            slow.skip(1);
            now[0] += Deadlines.READER_MILLIS + 1_000;
            server.server().check(now[0]);
            return server.metrics.connections().get();
          },
          "connections");
      Eventually.equal(0, engine.openScans::get, "open scans");
    }
  }

  @Test
  void declaredBodiesCountBeforeTheyArriveAndSmallOnesStillFit() throws IOException {
    try (TestServer server = new TestServer("sync", new MapEngine());
        RawClient declares = server.connect();
        RawClient other = server.connect()) {
      MemoryBudget budget = server.server().requestMemory();
      declares.send(put(1_000_000));
      Eventually.equal(1_000_000, () -> (int) budget.held(), "bytes held");
      long most = Runtime.getRuntime().maxMemory() / 8;
      budget.hold(most);
      assertEquals(503, other.exchange(put(100_000) + "v".repeat(100_000)).status());
      assertEquals(201, other.exchange(ConformanceCases.put("id=k", "v")).status());
      budget.release(most);
      declares.close();
      Eventually.equal(0, () -> (int) budget.held(), "bytes held");
    }
  }

  @Test
  void theResponseToAChunkedUploadArrivesBeforeTheBodyEnds() throws Exception {
    String head = ConformanceCases.request("PUT", TARGET, "Transfer-Encoding: chunked\r\n");
    String chunk = "1000\r\n" + "x".repeat(4096) + "\r\n";
    try (TestServer server = new TestServer("sync", new MapEngine())) {
      for (int i = 0; i < 200; i++) {
        try (RawClient client = server.connect()) {
          client.send(head);
          unreadAfter(i % 3);
          client.send(chunk.repeat(20) + "0\r\n\r\n");
          assertEquals(411, client.read().status(), "upload " + i);
        }
      }
    }
  }

  private static void unreadAfter(int millis) throws InterruptedException {
    TimeUnit.MILLISECONDS.sleep(millis);
  }

  @Test
  void aThrowableThatEscapesAVariantEndsTheConnectionAndNothingElse() throws IOException {
    MapEngine engine =
        new MapEngine() {
          @Override
          protected void before(byte[] key) {
            throw new OutOfMemoryError("as if");
          }
        };
    try (TestServer server = new TestServer("sync", engine);
        RawClient client = server.connect()) {
      for (int i = 0; i < 20; i++) {
        assertEquals(500, client.exchange(ConformanceCases.get("id=k")).status());
      }
      assertTrue(server.server().isHealthy());
    }
  }

  @Test
  void aDeadSelectorIsDetected() throws Exception {
    try (TestServer server = new TestServer("sync", new MapEngine())) {
      assertTrue(server.server().isHealthy());
      server.server().selectorThreads()[0].selector.close(); // its thread ends
      server.server().selectorThreads()[0].join();
      assertFalse(server.server().isHealthy());
    }
  }

  @Test
  void aRequestAfterARefusalRunsOnTheSelectorsThread() throws Exception {
    List<String> threads = new java.util.concurrent.CopyOnWriteArrayList<>();
    MapEngine engine =
        new MapEngine() {
          @Override
          protected void before(byte[] key) {
            threads.add(Thread.currentThread().getName());
            if (key[0] == 'o') {
              throw new lsmlab.storage.OverloadedException("flushes do not keep up");
            }
          }
        };
    VariantSettings settings = new VariantSettings(1, 16, TimeUnit.SECONDS.toNanos(60));
    try (TestServer server = new TestServer("sync", engine, settings, 10, 1000, 1, 100);
        RawClient client = server.connect()) {
      client.send((ConformanceCases.put("id=o", "v") + ConformanceCases.get("id=k")).repeat(5));
      for (int i = 0; i < 5; i++) {
        assertEquals(503, client.read().status());
        assertEquals(404, client.read().status());
      }
      assertEquals(10, threads.size());
      assertTrue(threads.stream().allMatch(name -> name.startsWith("NIO Selector")), threads + "");
    }
  }

  @Test
  void theLibrarysFramesCarryARequestOfSync() throws IOException {
    StringBuilder frames = new StringBuilder();
    MapEngine engine =
        new MapEngine() {
          @Override
          protected void before(byte[] key) {
            StackWalker.getInstance().forEach(f -> frames.append(f.getClassName()).append('\n'));
          }
        };
    try (TestServer server = new TestServer("sync", engine);
        RawClient client = server.connect()) {
      assertEquals(404, client.exchange(ConformanceCases.get("id=k")).status());
      for (String frame :
          List.of("one.nio.http.HttpSession\n", "one.nio.server.SelectorThread\n")) {
        assertTrue(frames.toString().contains(frame), frames::toString);
      }
    }
  }
}
