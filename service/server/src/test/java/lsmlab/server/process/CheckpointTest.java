package lsmlab.server.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import lsmlab.server.http.RawClient;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code POST /checkpoint}, as clients use it. */
class CheckpointTest {

  private static final int PAIRS = 300;

  @TempDir private Path directory;

  private static String request(String method, int key, String body) {
    String head = method + " /v0/entity?id=key" + key + " HTTP/1.1\r\nHost: h\r\n";
    return body == null
        ? head + "\r\n"
        : head + "Content-Length: " + body.length() + "\r\n\r\n" + body;
  }

  private static void put(RawClient client, int from, int to) throws IOException {
    for (int i = from; i < to; i++) {
      assertEquals(201, client.exchange(request("PUT", i, "value" + i)).status());
    }
  }

  private static HttpResponse<String> post(ServiceProcess service, String query) throws Exception {
    URI uri = URI.create("http://127.0.0.1:" + service.adminPort() + "/checkpoint" + query);
    try (HttpClient http = HttpClient.newHttpClient()) {
      HttpRequest request =
          HttpRequest.newBuilder(uri).POST(HttpRequest.BodyPublishers.noBody()).build();
      return http.send(request, HttpResponse.BodyHandlers.ofString());
    }
  }

  private static String dir(Path path) {
    return "?dir=" + URLEncoder.encode(path.toString(), StandardCharsets.UTF_8).replace("+", "%20");
  }

  @Test
  void aServiceCanStartFromACheckpoint() throws Exception {
    Path second = Files.createDirectory(directory.resolve("a second+place"));
    Path copy = second.resolve("store");
    try (ServiceProcess service = ServiceProcess.serve(directory, "compression: lz4");
        RawClient client = service.connect()) {
      put(client, 0, PAIRS);
      HttpResponse<String> response = post(service, dir(copy));
      assertEquals("done\n", response.body());
      assertEquals(200, response.statusCode());
      try (ServiceProcess verify = ServiceProcess.run("verify", "--dir", copy.toString())) {
        assertEquals(0, verify.exitCode(), verify.errors());
        assertTrue(verify.output().contains(PAIRS + " entries"));
      }
      put(client, PAIRS, 2 * PAIRS);
      // The checkpoint's service runs beside the first: they share only files that never change.
      try (ServiceProcess other = ServiceProcess.serve(second);
          RawClient reader = other.connect()) {
        for (int i = 0; i < 2 * PAIRS; i++) {
          int status = reader.exchange(request("GET", i, null)).status();
          assertEquals(i < PAIRS ? 200 : 404, status, "key" + i);
        }
        put(reader, 0, 10);
      }
      HttpResponse<String> again = post(service, dir(copy));
      assertEquals(409, again.statusCode());
      assertEquals(copy + " exists: name a directory that does not exist yet\n", again.body());
      for (int i = 0; i < 2 * PAIRS; i++) {
        assertEquals(200, client.exchange(request("GET", i, null)).status());
      }
    }
  }

  @Test
  void impossibleCheckpointsAreRefusedWithTheReasonAndLeaveNothing() throws Exception {
    try (ServiceProcess service = ServiceProcess.serve(directory)) {
      String[][] cases = {
        {"", "400", "say where: POST /checkpoint?dir=/absolute/path"},
        {"?directory=/tmp/x", "400", "say where"},
        {"?dir=%00", "400", "dir is not a path"},
        {"?dir=relative", "409", "is not an absolute path"},
        {dir(directory.resolve("none/copy")), "409", "none is not a directory: create it first"},
        {dir(directory.resolve("store/copy")), "409", "is inside the store"},
        {"?dir=/proc/copy", "409", "/proc"},
      };
      for (String[] each : cases) {
        HttpResponse<String> response = post(service, each[0]);
        assertTrue(response.body().contains(each[2]), each[0] + ": " + response.body());
        assertEquals(Integer.parseInt(each[1]), response.statusCode(), each[0]);
      }
    }
    try (Stream<Path> files = Files.list(directory)) {
      assertEquals(
          List.of("service.yaml", "store"),
          files.map(file -> file.getFileName().toString()).sorted().toList());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"memory", "null", "mvstore"})
  void anEngineWithoutCheckpointsReportsThat(String engine) throws Exception {
    try (ServiceProcess service = ServiceProcess.serve(directory, "engine: \"" + engine + "\"")) {
      HttpResponse<String> response = post(service, dir(directory.resolve("copy")));
      assertEquals("this engine does not support checkpoints\n", response.body());
      assertEquals(501, response.statusCode());
    }
  }

  @Test
  void rocksDbMakesCheckpointsToo() throws Exception {
    Path copy = directory.resolve("second/store/rocksdb");
    Files.createDirectories(copy.getParent());
    try (ServiceProcess service = ServiceProcess.serve(directory, "engine: rocksdb");
        RawClient client = service.connect()) {
      put(client, 0, 10);
      assertEquals("done\n", post(service, dir(copy)).body());
      assertEquals(409, post(service, dir(copy)).statusCode());
    }
    try (ServiceProcess other =
            ServiceProcess.serve(directory.resolve("second"), "engine: rocksdb");
        RawClient reader = other.connect()) {
      assertEquals(200, reader.exchange(request("GET", 9, null)).status());
    }
  }
}
