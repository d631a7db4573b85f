package lsmlab.server.http;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Clients of other projects. Those that are not installed are skipped. */
class ClientsTest {

  private static final int[] SIZES = {0, 1, 255, 4096, 65_535, 65_536, 65_537, 1 << 20};
  private static final long SECONDS_MAX = 120;

  @TempDir Path directory;

  private static byte[] value(int size) {
    byte[] value = new byte[size];
    new Random(size).nextBytes(value);
    return value;
  }

  private static void need(String program) {
    boolean there =
        Stream.of(System.getenv("PATH").split(File.pathSeparator))
            .anyMatch(path -> Files.isExecutable(Path.of(path, program)));
    assumeTrue(there, program + " is not installed");
  }

  /** Runs a command that must end well; returns its output. */
  private String run(String... command) throws IOException, InterruptedException {
    Path output = directory.resolve("output");
    Process process =
        new ProcessBuilder(command)
            .directory(directory.toFile())
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start();
    if (!process.waitFor(SECONDS_MAX, TimeUnit.SECONDS)) {
      process.destroyForcibly();
    }
    String text = Files.readString(output);
    assertEquals(0, process.waitFor(), () -> String.join(" ", command) + ":\n" + text);
    return text;
  }

  private Path script(String name) throws IOException {
    Path script = directory.resolve(name);
    try (var in = ClientsTest.class.getResourceAsStream("/clients/" + name)) {
      Files.copy(in, script, StandardCopyOption.REPLACE_EXISTING);
    }
    return script;
  }

  private static String base(TestServer server) {
    return "http://127.0.0.1:" + server.port();
  }

  @ParameterizedTest
  @ValueSource(strings = {"sync", "queue"})
  void javasHttpClient(String variant) throws Exception {
    try (TestServer server = new TestServer(variant, new MapEngine());
        HttpClient http = HttpClient.newHttpClient()) {
      URI key = URI.create(base(server) + "/v0/entity?id=java");
      for (int size : SIZES) {
        byte[] value = value(size);
        assertEquals(201, send(http, key, "PUT", value).statusCode());
        HttpResponse<byte[]> got = send(http, key, "GET", new byte[0]);
        assertEquals(200, got.statusCode());
        assertArrayEquals(value, got.body());
        URI range = URI.create(base(server) + "/v0/entities?start=java&end=javb");
        byte[] pair = send(http, range, "GET", new byte[0]).body();
        assertArrayEquals(value, Arrays.copyOfRange(pair, 5, pair.length));
      }
      assertEquals(202, send(http, key, "DELETE", new byte[0]).statusCode());
      assertEquals(404, send(http, key, "HEAD", new byte[0]).statusCode());
    }
  }

  private static HttpResponse<byte[]> send(HttpClient http, URI uri, String method, byte[] body)
      throws IOException, InterruptedException {
    HttpRequest.BodyPublisher publisher =
        method.equals("PUT")
            ? HttpRequest.BodyPublishers.ofByteArray(body)
            : HttpRequest.BodyPublishers.noBody();
    HttpRequest request = HttpRequest.newBuilder(uri).method(method, publisher).build();
    return http.send(request, HttpResponse.BodyHandlers.ofByteArray());
  }

  @Test
  void curl() throws Exception {
    need("curl");
    try (TestServer server = new TestServer("queue", new MapEngine())) {
      String key = base(server) + "/v0/entity?id=curl";
      Path sent = directory.resolve("sent");
      Path got = directory.resolve("got");
      for (int size : SIZES) {
        Files.write(sent, value(size));
        run("curl", "-sSf", "-T", sent.toString(), key); // with Expect: 100-continue if it is large
        run("curl", "-sSf", "-o", got.toString(), key);
        assertArrayEquals(
            Files.readAllBytes(sent), size == 0 ? new byte[0] : Files.readAllBytes(got));
      }
      assertTrue(run("curl", "-sSI", key).startsWith("HTTP/1.1 200 OK"), "HEAD");
      String chunked = "Transfer-Encoding: chunked";
      String status = "%{http_code}";
      assertEquals(
          "411",
          run(
              "curl",
              "-sS",
              "-o",
              got.toString(),
              "-w",
              status,
              "-H",
              chunked,
              "-T",
              sent.toString(),
              key));
      run("curl", "-sSf", "-X", "DELETE", key);
      assertEquals("404", run("curl", "-sS", "-o", got.toString(), "-w", status, key));
    }
  }

  @Test
  void pythonsHttpClient() throws Exception {
    need("python3");
    try (TestServer server = new TestServer("queue", new MapEngine())) {
      run("python3", script("pairs.py").toString(), Integer.toString(server.port()));
    }
  }

  @Test
  void gosNetHttp() throws Exception {
    need("go");
    try (TestServer server = new TestServer("queue", new MapEngine())) {
      run("go", "run", script("pairs.go").toString(), base(server));
    }
  }

  @Test
  void wrk() throws Exception {
    need("wrk");
    try (TestServer server = new TestServer("queue", new MapEngine())) {
      server.connect().exchange(ConformanceCases.put("id=k", "value"));
      String report = run("wrk", "-t1", "-c8", "-d1s", base(server) + "/v0/entity?id=k");
      assertTrue(report.contains("requests in") && !report.contains("Non-2xx"), report);
      assertTrue(!report.contains("Socket errors"), report);
    }
  }

  @Test
  void h2load() throws Exception {
    need("h2load");
    try (TestServer server = new TestServer("queue", new MapEngine())) {
      server.connect().exchange(ConformanceCases.put("id=k", "value"));
      List<String> command = List.of("h2load", "--h1", "-n2000", "-c8", "-m4");
      String[] all =
          Stream.concat(command.stream(), Stream.of(base(server) + "/v0/entity?id=k"))
              .toArray(String[]::new);
      String report = run(all);
      assertTrue(report.contains("2000 succeeded, 0 failed"), report);
    }
  }
}
