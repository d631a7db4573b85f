package lsmlab.server.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import lsmlab.server.http.Eventually;
import lsmlab.server.http.RawClient;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Inputs that ended, blocked or delayed the whole process. */
class AbuseTest {

  @TempDir Path directory;

  @Test
  void requestLinesWithoutEndHoldNoMemory() throws Exception {
    try (ServiceProcess service =
        ServiceProcess.serve(directory, List.of("-Xmx48m", "-XX:+ExitOnOutOfMemoryError"))) {
      List<RawClient> clients = new ArrayList<>();
      String line = "GET /v0/entity?id=" + "a".repeat(190_000);
      for (int i = 0; i < 400; i++) {
        RawClient client = service.connect();
        clients.add(client);
        try {
          client.send(line);
        } catch (IOException e) {
          // answered and closed before the end of the line
        }
      }
      try (RawClient client = service.connect()) {
        assertEquals(404, client.exchange(get()).status());
      }
      for (RawClient client : clients) {
        client.close();
      }
      assertFalse(service.errors().contains("OutOfMemory"), service.errors());
    }
  }

  @Test
  void withoutFileDescriptorsItWaitsAndThenAcceptsAgain() throws Exception {
    try (ServiceProcess service = ServiceProcess.serveWithFiles(directory, 150)) {
      try (RawClient client =
          service.connect()) { // loads classes while there are descriptors to read them by
        assertEquals(404, client.exchange(get()).status());
      }
      List<RawClient> clients = new ArrayList<>();
      for (int i = 0; i < 250; i++) { // the kernel accepts what the service cannot
        clients.add(service.connect());
      }
      String message = "no connection can be accepted";
      Eventually.equal(1, () -> says(service, message) ? 1 : 0, message);
      for (RawClient client : clients) {
        client.close();
      }
      try (RawClient client = service.connect()) {
        assertEquals(404, client.exchange(get()).status());
      }
      long lines = service.errors().lines().count();
      assertTrue(lines < 20, lines + " lines of log");
    }
  }

  @Test
  void withoutFileDescriptorsTheAdminPortWaitsToo() throws Exception {
    try (ServiceProcess service = ServiceProcess.serveWithFiles(directory, 150);
        RawClient first = new RawClient(service.adminPort())) {
      String health = adminGet("/health", "Host: localhost\r\n");
      assertEquals(200, first.exchange(health).status());
      List<RawClient> clients = new ArrayList<>();
      for (int i = 0; i < 250; i++) {
        clients.add(service.connect());
      }
      // Before, the service may still have a descriptor for the admin port.
      String none = "no connection can be accepted, ";
      Eventually.equal(1, () -> says(service, none) ? 1 : 0, none);
      for (int i = 0; i < 5; i++) { // one that is freed meanwhile goes to the first
        clients.add(new RawClient(service.adminPort()));
      }
      String message = "no connection can be accepted on the admin port";
      Eventually.equal(1, () -> says(service, message) ? 1 : 0, message);
      for (RawClient client : clients) {
        client.close();
      }
      try (RawClient client = new RawClient(service.adminPort())) {
        assertEquals(200, client.exchange(health).status());
      }
      long lines = service.errors().lines().count();
      assertTrue(lines < 20, lines + " lines of log");
    }
  }

  @Test
  void aDamagedBlockDoesNotFillTheLog() throws Exception {
    String value = "v".repeat(100);
    try (ServiceProcess service = ServiceProcess.serve(directory);
        RawClient client = service.connect();
        RawClient admin = new RawClient(service.adminPort())) {
      String head = "PUT /v0/entity?id=k HTTP/1.1\r\nHost: h\r\nContent-Length: ";
      assertEquals(201, client.exchange(head + value.length() + "\r\n\r\n" + value).status());
      String flush = "POST /flush HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n";
      assertEquals(200, admin.exchange(flush).status());
      service.terminate();
      assertEquals(0, service.exitCode());
    }
    try (Stream<Path> files = Files.list(directory.resolve("store"))) {
      Path table = files.filter(file -> file.toString().endsWith(".sst")).findFirst().orElseThrow();
      String text = Files.readString(table, StandardCharsets.ISO_8859_1);
      Files.writeString(table, text.replace("vvv", "vwv"), StandardCharsets.ISO_8859_1);
    }
    try (ServiceProcess service = ServiceProcess.serve(directory);
        RawClient client = service.connect()) {
      for (int i = 0; i < 2_000; i++) {
        assertEquals(500, client.exchange(get()).status());
      }
      assertTrue(service.errors().contains("checksum"), service.errors());
      long lines = service.errors().lines().count();
      assertTrue(lines < 200, lines + " lines of log");
    }
  }

  private static boolean says(ServiceProcess service, String text) {
    try {
      return service.errors().contains(text);
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void aStopDoesNotWaitForACompaction() throws Exception {
    String value = "v".repeat(100_000);
    String[] config = {
      "compaction: off", "flush_threshold_bytes: 1048576", "compaction_bytes_per_second_max: 65536"
    };
    try (ServiceProcess service = ServiceProcess.serve(directory, config)) {
      try (RawClient client = service.connect()) {
        for (int i = 0; i < 100; ) {
          String head = "PUT /v0/entity?id=k" + i + " HTTP/1.1\r\nHost: h\r\nContent-Length: ";
          int status = client.exchange(head + value.length() + "\r\n\r\n" + value).status();
          i += status == 201 ? 1 : 0; // 503 while flushes do not keep up
        }
      }
      try (RawClient admin = new RawClient(service.adminPort())) {
        String post = " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n";
        assertEquals(200, admin.exchange("POST /flush" + post).status());
        int flushed = tables();
        admin.send("POST /compact" + post);
        Eventually.equal(1, () -> tables() > flushed ? 1 : 0, "a table that the compaction writes");
        service.terminate();
        assertEquals(1, service.exitCode(), service.errors()); // the compaction alone takes 150 s
        assertTrue(service.errors().contains("the store is still in use"), service.errors());
      }
    }
    try (ServiceProcess service = ServiceProcess.serve(directory, config);
        RawClient client = service.connect()) {
      for (int i = 0; i < 100; i++) {
        String get = "GET /v0/entity?id=k" + i + " HTTP/1.1\r\nHost: h\r\n\r\n";
        assertEquals(value, client.exchange(get).body());
      }
    }
  }

  private int tables() {
    return directory.resolve("store").toFile().list((store, name) -> name.endsWith(".sst")).length;
  }

  @Test
  void halfSentRequestsDoNotBlockTheAdminPort() throws Exception {
    try (ServiceProcess service = ServiceProcess.serve(directory)) {
      List<RawClient> half = new ArrayList<>();
      for (int i = 0; i < 20; i++) {
        half.add(new RawClient(service.adminPort()).send("GET /metr"));
      }
      try (RawClient client = new RawClient(service.adminPort())) {
        String host = "Host: localhost\r\n";
        assertEquals(200, client.exchange(adminGet("/metrics", host)).status());
        assertEquals(200, client.exchange(adminGet("/health", host)).status());
      }
      for (RawClient client : half) { // and each of them ends
        assertTrue(client.isClosedByPeer());
        client.close();
      }
    }
  }

  @Test
  void theAdminPortRefusesWebPages() throws Exception {
    try (ServiceProcess service = ServiceProcess.serve(directory);
        RawClient client = new RawClient(service.adminPort())) {
      for (String own : List.of("localhost:8081", "127.0.0.1", "[::1]:8081", "service:8081")) {
        assertEquals(200, client.exchange(adminGet("/health", "Host: " + own + "\r\n")).status());
      }
      String rebound = "Host: evil.example:8081\r\n";
      assertEquals(403, client.exchange(adminGet("/health", rebound)).status());
      String foreign = "Host: localhost\r\nOrigin: http://evil.example\r\nContent-Length: 0\r\n";
      String post = "POST /request-metrics/off HTTP/1.1\r\n" + foreign + "\r\n";
      assertEquals(403, client.exchange(post).status());
      String config = client.exchange(adminGet("/config", "Host: localhost\r\n")).body();
      assertTrue(config.contains("\"request_metrics\" : \"on\""), config);
    }
  }

  private static String adminGet(String path, String headers) {
    return "GET " + path + " HTTP/1.1\r\n" + headers + "\r\n";
  }

  private static String get() {
    return "GET /v0/entity?id=k HTTP/1.1\r\nHost: h\r\n\r\n";
  }
}
