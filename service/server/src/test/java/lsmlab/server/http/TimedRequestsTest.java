package lsmlab.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import lsmlab.server.metrics.MetricsPage;
import lsmlab.server.variant.VariantSettings;
import org.junit.jupiter.api.Test;

/** Where many requests are submitted at once some of them are timed, and stand for the others. */
class TimedRequestsTest {

  private static final String GET = ConformanceCases.get("id=k");

  private final GatedEngine engine = new GatedEngine();

  private TestServer start() throws IOException {
    VariantSettings settings = new VariantSettings(1, 16, TimeUnit.SECONDS.toNanos(60));
    return new TestServer("sync", engine, settings, 1000, TestServer.MAX_VALUE_BYTES, 1);
  }

  private int timed(TestServer server, String method, String stage) {
    String name =
        "lsmlab_request_seconds_count{method=\"%s\",stage=\"%s\"} ".formatted(method, stage);
    return value(server, name);
  }

  private int value(TestServer server, String name) {
    MetricsPage page = new MetricsPage(server.metrics, server.variant(), engine::stats, Map.of());
    return page.render()
        .lines()
        .filter(line -> line.startsWith(name))
        .mapToInt(line -> Integer.parseInt(line.substring(name.length())))
        .findFirst()
        .orElse(0);
  }

  private int counted(TestServer server) {
    return value(server, "lsmlab_requests_total{method=\"get\",status=\"404\"} ");
  }

  private void answerInOneTurn(TestServer server, List<String> requests) throws Exception {
    for (RawClient client : engine.inOneTurn(server, requests)) {
      client.read();
      client.close();
    }
  }

  @Test
  void ofManyOneInEightIsTimedAndStandsForTheOthers() throws Exception {
    try (TestServer server = start()) {
      // each connection asks once before, alone, and one request more holds the thread up
      answerInOneTurn(server, Collections.nCopies(20, GET));
      Eventually.equal(41, () -> counted(server), "GETs counted");
      Eventually.equal(37, () -> timed(server, "get", "total"), "the last four wait for the next");
      assertEquals(37, timed(server, "get", "storage"));
      try (RawClient client = server.connect()) {
        assertEquals(404, client.exchange(GET).status());
      }
      Eventually.equal(42, () -> timed(server, "get", "total"), "all of them are accounted for");
    }
  }

  @Test
  void ofFewEachIsTimed() throws Exception {
    try (TestServer server = start()) {
      answerInOneTurn(server, Collections.nCopies(EventLoop.TIMED_ONE_IN, GET));
      Eventually.equal(17, () -> counted(server), "GETs counted");
      Eventually.equal(17, () -> timed(server, "get", "total"), "GETs timed");
    }
  }

  @Test
  void everyMethodStandsForItsOwn() throws Exception {
    try (TestServer server = start()) {
      List<String> requests = new ArrayList<>(Collections.nCopies(9, GET));
      requests.addAll(Collections.nCopies(8, ConformanceCases.put("id=k", "v")));
      answerInOneTurn(server, requests);
      Eventually.equal(8, () -> timed(server, "put", "total"), "PUTs timed");
      assertEquals(18 + 8, timed(server, "get", "total"), "the ninth GET waits for the next");
    }
  }
}
