package lsmlab.server.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import lsmlab.server.http.Eventually;
import lsmlab.server.http.RawClient;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The service as a process: its promises when it is killed, stopped, or started wrongly. */
class ProcessTest {

  @TempDir Path directory;

  @ParameterizedTest
  @ValueSource(strings = {"sync", "queue"})
  void acknowledgedWritesSurviveAKillDuringPuts(String variant) throws Exception {
    PutLoad load;
    String[] config = {"variant: " + variant, "flush_threshold_bytes: 200000"};
    try (ServiceProcess service = ServiceProcess.serve(directory, config)) {
      load = new PutLoad(service, 4);
      Eventually.equal(1, () -> load.acknowledged.get() > 3_000 ? 1 : 0, "acknowledged writes");
      service.kill();
      load.join();
    }
    checkAllThere(load, config);
  }

  private void checkAllThere(PutLoad load, String... config) throws IOException {
    try (ServiceProcess service = ServiceProcess.serve(directory, config)) {
      load.checkAndSettle(service);
    }
  }

  @Test
  void adminPortShowsAndDoesWhatItSays() throws Exception {
    String[] settings = {
      "variant: queue",
      "durability: power",
      "compaction: tiered",
      "level0_tables_max: 5",
      "fanout: 7",
      "block_bytes: 8192",
      "bloom_bits_per_key: 0",
      "compression: lz4"
    };
    try (ServiceProcess service = ServiceProcess.serve(directory, settings);
        HttpClient http = HttpClient.newHttpClient()) {
      try (RawClient client = service.connect()) {
        String put = "PUT /v0/entity?id=k HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nv";
        assertEquals(201, client.exchange(put).status());
      }
      String base = "http://127.0.0.1:" + service.adminPort();
      assertEquals("ok\n", admin(http, "GET", base + "/health", 200));
      assertEquals("ready\n", admin(http, "GET", base + "/ready", 200));
      for (String action : new String[] {"/flush", "/compact", "/quiesce"}) {
        assertEquals("done\n", admin(http, "POST", base + action, 200));
        admin(http, "GET", base + action, 405);
      }
      admin(http, "GET", base + "/other", 404);
      for (String page : new String[] {"/health", "/ready", "/metrics", "/config"}) {
        assertEquals("", admin(http, "HEAD", base + page, 200));
      }
      String config = admin(http, "GET", base + "/config", 200);
      for (String key :
          new String[] {"java_version", "jvm_flags", "gc", "native_transport", "pid"}) {
        assertTrue(config.contains('"' + key + '"'), config);
      }
      assertTrue(config.contains("\"variant\" : \"queue\""), config);
      assertTrue(config.contains("\"keeps\" : \"killed\""), config);
      assertTrue(config.contains("\"data_port\" : " + service.dataPort()), config);
      String metrics = admin(http, "GET", base + "/metrics", 200);
      assertTrue(metrics.contains("lsmlab_requests_total{method=\"put\",status=\"201\"} 1\n"));
      assertTrue(metrics.contains("lsmlab_flushes_total 1\n"), metrics);
      assertTrue(metrics.contains("lsmlab_tables 1\n"), metrics);
      String labels =
          Stream.of(settings)
              .map(line -> line.replace(": ", "=\"") + "\"")
              .collect(Collectors.joining(",", "lsmlab_service_info{", ","))
              .replace("durability", "engine=\"lsm\",durability");
      assertTrue(metrics.contains(labels), labels + " is not in\n" + metrics);
    }
  }

  @Test
  void theAdminPortSwitchesTheCountingOfRequests() throws Exception {
    try (ServiceProcess service = ServiceProcess.serve(directory, "request_metrics: off");
        HttpClient http = HttpClient.newHttpClient();
        RawClient client = service.connect()) {
      String base = "http://127.0.0.1:" + service.adminPort();
      String get = "GET /v0/entity?id=k HTTP/1.1\r\nHost: h\r\n\r\n";
      int counted = 0;
      for (String state : new String[] {"off", "on", "off", "on"}) {
        String metrics = "\"request_metrics\" : \"" + state + "\"";
        admin(http, "POST", base + "/request-metrics/" + state, 200);
        assertTrue(admin(http, "GET", base + "/config", 200).contains(metrics));
        for (int i = 0; i < 3; i++) {
          assertEquals(404, client.exchange(get).status());
          counted += state.equals("on") ? 1 : 0;
        }
        if (counted > 0) { // a request is counted just after its response
          String sample = "lsmlab_requests_total{method=\"get\",status=\"404\"} " + counted + "\n";
          Eventually.equal(1, () -> shows(http, base, sample) ? 1 : 0, sample);
        }
      }
    }
  }

  private static boolean shows(HttpClient http, String base, String sample) {
    try {
      return admin(http, "GET", base + "/metrics", 200).contains(sample);
    } catch (IOException | InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private static String admin(HttpClient http, String method, String uri, int status)
      throws IOException, InterruptedException {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(uri))
            .method(method, HttpRequest.BodyPublishers.noBody())
            .build();
    HttpResponse<String> response = http.send(request, HttpResponse.BodyHandlers.ofString());
    assertEquals(status, response.statusCode(), uri);
    return response.body();
  }

  @Test
  void aPortInUseIsReportedInOneLine() throws Exception {
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      for (String which : new String[] {"data", "admin"}) {
        String other = which.equals("data") ? "admin" : "data";
        Path config = directory.resolve("service.yaml");
        Files.writeString(
            config,
            "data_dir: %s\n%s_port: %d\n%s_port: 0\n"
                .formatted(directory.resolve("store"), which, taken.getLocalPort(), other));
        try (ServiceProcess service = ServiceProcess.run("serve", "--config", config.toString())) {
          assertEquals(1, service.exitCode());
          String expected =
              "serve: " + which + " port 127.0.0.1:" + taken.getLocalPort() + " cannot be used";
          assertTrue(
              service.errors().lines().anyMatch(l -> l.startsWith(expected)), service.errors());
          assertEquals("", service.output());
        }
      }
    }
  }

  @Test
  void aValueLimitTooLargeForTheHeapIsABadConfiguration() throws Exception {
    Path config = directory.resolve("service.yaml");
    Files.writeString(
        config, "data_dir: " + directory.resolve("store") + "\nmax_value_bytes: 100000000\n");
    try (ServiceProcess service = ServiceProcess.run("serve", "--config", config.toString())) {
      assertEquals(2, service.exitCode());
      String expected =
          "serve: \\Q"
              + config
              + "\\E: max_value_bytes: 100000000 does not fit a heap of \\d+ bytes:"
              + " set it to at most \\d+, or give the JVM at least -Xmx763m\\R";
      assertTrue(service.errors().matches(expected), service.errors());
    }
    assertTrue(Files.notExists(directory.resolve("store")));
  }

  /** The largest value that a configuration may allow can be written, kept, flushed and read. */
  @Test
  void theLargestValueThatTheHeapHasRoomForIsServed() throws Exception {
    int bytes = 24_000_000;
    String value = "v".repeat(bytes);
    String put = "PUT /v0/entity?id=k HTTP/1.1\r\nHost: h\r\nContent-Length: ";
    String get = "GET /v0/entity?id=k HTTP/1.1\r\nHost: h\r\n\r\n";
    List<String> flags =
        List.of(
            "-XX:-UseSerialGC", "-XX:+UseG1GC", "-Xmx" + Math.ceilDiv(8L * bytes, 1 << 20) + "m");
    try (ServiceProcess service =
            ServiceProcess.serve(directory, flags, "max_value_bytes: " + bytes);
        HttpClient http = HttpClient.newHttpClient();
        RawClient client = service.connect()) {
      assertEquals(201, client.exchange(put + bytes + "\r\n\r\n" + value).status());
      admin(http, "POST", "http://127.0.0.1:" + service.adminPort() + "/flush", 200);
      assertEquals(value, client.exchange(get).body());
    }
  }

  /** Two readers keep more replaced tables than the store allows: it ends the older one's scan. */
  @Test
  void aRangeThatIsReadTooSlowlyIsCutOffWithoutAnError() throws Exception {
    int pairs = 75;
    String value = "v".repeat(1_000_000);
    try (ServiceProcess service = ServiceProcess.serve(directory, "compaction: off");
        HttpClient http = HttpClient.newHttpClient();
        RawClient client = service.connect();
        RawClient older = service.connect(64 * 1024);
        RawClient newer = service.connect(64 * 1024)) {
      String base = "http://127.0.0.1:" + service.adminPort();
      for (int i = 0; i < pairs; ) {
        String put = "PUT /v0/entity?id=k" + i + " HTTP/1.1\r\nHost: h\r\nContent-Length: ";
        int status = client.exchange(put + value.length() + "\r\n\r\n" + value).status();
        i += status == 201 ? 1 : 0; // 503 while flushes do not keep up
      }
      admin(http, "POST", base + "/flush", 200);
      int readers = 0;
      for (RawClient reader : List.of(older, newer)) {
        reader.send("GET /v0/entities?start=k HTTP/1.1\r\nHost: h\r\n\r\n");
        String begun = "lsmlab_requests_total{method=\"range\",status=\"200\"} " + ++readers + "\n";
        Eventually.equal(1, () -> shows(http, base, begun) ? 1 : 0, begun);
      }
      for (int i = 0; i < pairs; i++) {
        String delete = "DELETE /v0/entity?id=k" + i + " HTTP/1.1\r\nHost: h\r\n\r\n";
        assertEquals(202, client.exchange(delete).status());
      }
      admin(http, "POST", base + "/compact", 200);
      assertThrows(EOFException.class, older::read);
      assertTrue(newer.read().body().length() > pairs * value.length(), "the newer one's is whole");
      assertTrue(shows(http, base, "lsmlab_ranges_cut_off_total 1\n"));
      assertTrue(service.errors().contains("[INFO] Exchange - a range was cut off: "));
      assertFalse(service.errors().contains("[ERROR]"), service.errors());
    }
  }

  @Test
  void afterAFailedSyncTheServiceIsNotReadyAndReportsWhy() throws Exception {
    String put = "PUT /v0/entity?id=k HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nv";
    String get = "GET /v0/entity?id=k HTTP/1.1\r\nHost: h\r\n\r\n";
    try (ServiceProcess service = ServiceProcess.serve(directory, "durability: power");
        HttpClient http = HttpClient.newHttpClient();
        RawClient client = service.connect()) {
      String base = "http://127.0.0.1:" + service.adminPort();
      assertEquals(201, client.exchange(put).status());
      assertEquals("ready\n", admin(http, "GET", base + "/ready", 200));
      Process faults = service.failSyncs();
      assumeTrue(faults != null, "strace is not installed or may not trace");
      RawClient.Response refused = client.exchange(put);
      faults.destroy();
      assertEquals(503, refused.status());
      assertTrue(refused.body().startsWith("the store accepts no writes: "), refused.body());
      assertEquals(refused.body(), admin(http, "GET", base + "/ready", 503));
      assertEquals("ok\n", admin(http, "GET", base + "/health", 200));
      assertEquals(200, client.exchange(get).status(), "reads go on");
      assertEquals(503, client.exchange(put).status(), "until it is started again");
    }
  }

  @Test
  void aStopThatCannotCloseTheStoreExitsWith1AndSaysSo() throws Exception {
    try (ServiceProcess service = ServiceProcess.serve(directory, "durability: power")) {
      try (RawClient client = service.connect()) {
        String put = "PUT /v0/entity?id=k HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nv";
        assertEquals(201, client.exchange(put).status());
      }
      Process faults = service.failSyncs();
      assumeTrue(faults != null, "strace is not installed or may not trace");
      service.terminate();
      assertEquals(1, service.exitCode(), service.errors());
      faults.destroy();
      assertTrue(service.errors().contains("the store was not closed"), service.errors());
    }
  }

  @Test
  void aBadConfigurationExitsWith2AndCreatesNothing() throws Exception {
    Path config = directory.resolve("service.yaml");
    Files.writeString(config, "data_dir: " + directory.resolve("store") + "\nworker: 3\n");
    try (ServiceProcess service = ServiceProcess.run("serve", "--config", config.toString())) {
      assertEquals(2, service.exitCode());
      assertTrue(service.errors().startsWith("serve: " + config + ": worker: unknown key"));
      assertEquals(1, service.errors().lines().count());
    }
    assertTrue(Files.notExists(directory.resolve("store")));
  }
}
