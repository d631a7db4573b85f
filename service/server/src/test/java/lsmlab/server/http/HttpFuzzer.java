package lsmlab.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;
import lsmlab.server.variant.VariantSettings;
import lsmlab.storage.Engine;

/**
 * Sends the inputs of {@link FuzzInputs} to a server and compares every byte of its responses with {@link HttpModel},
 * connection by connection. A connection is made from one seed, begins with an empty store and takes up to {@value
 * #INPUTS_PER_CONNECTION} inputs, pipelined and cut at random; {@link #connection} with the seed that a failure names
 * repeats it. Meanwhile other connections to the same selectors must still be served.
 */
final class HttpFuzzer implements AutoCloseable {

  private static final int INPUTS_PER_CONNECTION = 60;
  private static final int CANARIES = 4;
  private static final int MAX_VALUE_BYTES = 16_384;

  private final String variant;
  private final MapEngine engine;
  private final TestServer server;
  private final List<RawClient> canaries = new ArrayList<>();

  HttpFuzzer(String variant, MapEngine engine) throws IOException {
    this.variant = variant;
    this.engine = engine;
    VariantSettings settings = new VariantSettings(16, 4096, TimeUnit.SECONDS.toNanos(60));
    server = new TestServer(variant, engine, settings, 1000, MAX_VALUE_BYTES);
    for (int i = 0; i < CANARIES; i++) {
      canaries.add(server.connect());
    }
  }

  /** The counts of a campaign. */
  record Count(long inputs, long connections) {}

  /** Opens one connection after another until {@code inputs} inputs have been sent. */
  Count run(long seed, long inputs) throws IOException {
    long done = 0;
    long connections = 0;
    while (done < inputs) {
      done += connection(seed + connections);
      connections++;
    }
    return new Count(done, connections);
  }

  /** Sends inputs over one connection until it ends; returns their number. */
  int connection(long seed) throws IOException {
    RandomGenerator random = new SplittableRandom(seed); // neighbouring seeds must not begin alike
    FuzzInputs source = new FuzzInputs(random);
    HttpModel model = new HttpModel(MAX_VALUE_BYTES, Engine.KEY_BYTES_MAX);
    engine.pairs.clear();
    StringBuilder sent = new StringBuilder();
    int inputs = 0;
    try (RawClient client = server.connect()) {
      while (inputs < INPUTS_PER_CONNECTION && !model.closed()) {
        StringBuilder bytes = new StringBuilder();
        for (int i = 1 + (random.nextInt(3) == 0 ? random.nextInt(8) : 0); i > 0; i--) {
          bytes.append(source.next());
          inputs++;
        }
        sent.append(bytes);
        List<HttpModel.Expected> expected = model.feed(bytes.toString());
        boolean gone = !sendInPieces(client, bytes.toString(), random);
        assertTrue(!gone || model.closed(), "the server closed a connection that could go on");
        boolean last = !model.closed() && random.nextInt(12) == 0;
        if (last) {
          client.shutdownOutput(); // what has been sent must be answered all the same
        }
        for (HttpModel.Expected each : expected) {
          check(each, client);
        }
        if (last) {
          expectTheEnd(client, model);
          return inputs;
        }
        if (!model.complete() && !model.closed() && random.nextInt(4) == 0) {
          break;
        }
      }
      end(client, model, random);
      ping(random.nextInt(CANARIES));
      return inputs;
    } catch (IOException | AssertionError e) {
      String stream =
          sent.length() > 5000 ? "…" + sent.substring(sent.length() - 5000) : sent.toString();
      throw new AssertionError(
          "variant %s, seed %dL, after %d inputs: %s; sent:%n%s"
              .formatted(variant, seed, inputs, e, stream),
          e);
    }
  }

  /** Whether everything could be sent. */
  private boolean sendInPieces(RawClient client, String bytes, RandomGenerator random)
      throws IOException {
    int cuts = random.nextInt(4) == 0 ? 1 + random.nextInt(6) : 0;
    int at = 0;
    try {
      for (int i = 0; i < cuts && at < bytes.length(); i++) {
        // near the end of the last piece too, so that heads and bodies are cut often
        int piece = 1 + random.nextInt(Math.min(200, bytes.length() - at));
        client.send(bytes.substring(at, at + piece));
        at += piece;
        if (random.nextBoolean()) {
          ping(random.nextInt(CANARIES)); // the selector has most probably read the piece by then
        }
      }
      client.send(bytes.substring(at));
      return true;
    } catch (SocketException e) {
      return false;
    }
  }

  private static void check(HttpModel.Expected expected, RawClient client) throws IOException {
    RawClient.Response response = client.read(expected.headOnly());
    if (response.status() == 100 && expected.mayContinue()) {
      response = client.read(expected.headOnly());
    }
    assertEquals(
        expected.status(), response.status(), "status, the response says: " + response.body());
    if (expected.body() != null) {
      assertEquals(expected.body(), response.body(), "body");
    } else if (!expected.headOnly()) {
      assertTrue(response.body().endsWith("\n"), "an error says what was wrong");
    }
    assertEquals(expected.allow(), response.headers().get("allow"), "Allow");
    assertEquals(
        expected.close(),
        "close".equals(response.headers().get("connection")),
        "Connection: close");
  }

  private static void end(RawClient client, HttpModel model, RandomGenerator random)
      throws IOException {
    if (!model.closed()) {
      if (random.nextInt(4) == 0) {
        client.reset();
        return;
      }
      client.shutdownOutput();
    }
    expectTheEnd(client, model);
  }

  private static void expectTheEnd(RawClient client, HttpModel model) throws IOException {
    try {
      String more = client.readToEnd();
      assertTrue(
          more.isEmpty() || model.promised() && more.equals("HTTP/1.1 100 Continue\r\n\r\n"),
          "nobody asked for " + more);
    } catch (SocketException e) {
      assertTrue(model.closed(), "a connection that was not to be closed is lost: " + e);
    }
  }

  /** Another connection must be served at once. No input puts the key that it asks for. */
  private void ping(int canary) throws IOException {
    assertEquals(404, canaries.get(canary).exchange(ConformanceCases.get("id=canary")).status());
  }

  /** Fails if anything is left of the connections. */
  @Override
  public void close() throws IOException {
    for (int i = 0; i < CANARIES; i++) {
      ping(i);
      canaries.get(i).close();
    }
    Eventually.equal(0, () -> server.metrics.connections().get(), "connections left");
    Eventually.equal(0, engine.openScans::get, "open scans left");
    Eventually.equal(
        0, () -> (int) server.server().responseMemory().held(), "bytes of responses left");
    Eventually.equal(
        0, () -> (int) server.server().requestMemory().held(), "bytes of requests left");
    server.close();
  }
}
