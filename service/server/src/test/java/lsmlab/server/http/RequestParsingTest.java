package lsmlab.server.http;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.stream.Stream;
import lsmlab.server.request.RequestParsing;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class RequestParsingTest {

  private final MapEngine engine = new MapEngine();
  private TestServer server;

  @AfterEach
  void stop() {
    server.close();
  }

  private int status(String request) throws IOException {
    try (RawClient client = server.connect()) {
      return client.exchange(request).status();
    }
  }

  private int status(String method, String target) throws IOException {
    String length = method.equals("PUT") ? "Content-Length: 1\r\n\r\nv" : "\r\n";
    return status(method + " " + target + " HTTP/1.1\r\nHost: h\r\n" + length);
  }

  @ParameterizedTest
  @EnumSource
  void correctRequestsAreServedInEachWay(RequestParsing how) throws IOException {
    server = new TestServer(engine, how);
    assertEquals(201, status("PUT", "/v0/entity?id=%C3%A9"));
    assertEquals(
        "\u00e9", new String(engine.pairs.firstKey(), java.nio.charset.StandardCharsets.UTF_8));
    assertEquals(200, status("GET", "/v0/entity?x=1&id=%C3%A9"));
    assertEquals(200, status("GET", "http://h/v0/entity?id=%C3%A9"));
    assertEquals(200, status("GET", "/v0/entities?start=a&end=b"));
    assertEquals(202, status("DELETE", "/v0/entity?id=%C3%A9"));
    assertEquals(404, status("GET", "/v0/entity?id=%C3%A9"));
    for (String wrong : new String[] {"/v0/entity", "/v0/entity?id=", "/v0/entities", "/other"}) {
      assertEquals(400, status("GET", wrong), wrong);
    }
    assertEquals(405, status("POST", "/v0/entity?id=a"));
  }

  @Test
  void theLibraryIsNotStrict() throws IOException {
    server = new TestServer(engine, RequestParsing.LIBRARY);
    engine.put("a".getBytes(US_ASCII), new byte[1]);
    assertEquals(200, status("GET", "/v0/entity?id=a%4"));
    assertEquals(200, status("GET", "/v0/entity?id=a&id=b"));
    for (String escape : new String[] {"%", "%zz", "%%", "%g1", "%C3"}) {
      int status = status("GET", "/v0/entity?id=" + escape);
      assertTrue(status == 400 || status == 404, escape + ": " + status);
    }
  }

  /** The strict cases are those of {@link ConformanceTest}. */
  @TestFactory
  Stream<DynamicTest> withoutStringsEveryCaseIsAnsweredAsStated() throws IOException {
    server = new TestServer(engine, RequestParsing.BARE);
    return ConformanceCases.all().stream()
        .map(
            which ->
                DynamicTest.dynamicTest(
                    which.name(),
                    () -> {
                      engine.pairs.clear();
                      engine.put("k".getBytes(US_ASCII), "value".getBytes(US_ASCII));
                      engine.put("empty".getBytes(US_ASCII), new byte[0]);
                      ConformanceTest.check(server, which, false);
                    }));
  }

  @Test
  void eachWayAllocatesLessThanTheOneBeforeIt() throws IOException {
    server = new TestServer(engine, RequestParsing.BYTES);
    long library = allocated(RequestParsing.LIBRARY);
    long bytes = allocated(RequestParsing.BYTES);
    long bare = allocated(RequestParsing.BARE);
    assertTrue(bare < bytes && bytes < library, bare + ", " + bytes + ", " + library);
  }

  private static long allocated(RequestParsing how) {
    byte[] line = "GET /v0/entity?id=k000000001 HTTP/1.1\r\n".getBytes(US_ASCII);
    var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
    long least = Long.MAX_VALUE;
    for (int i = 0; i < 20; i++) {
      long before = threads.getCurrentThreadAllocatedBytes();
      LsmHttpRequest.parse(line, 0, line.length - 2, how);
      least = Math.min(least, threads.getCurrentThreadAllocatedBytes() - before);
    }
    return least;
  }
}
