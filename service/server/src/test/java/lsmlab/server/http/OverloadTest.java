package lsmlab.server.http;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import lsmlab.server.request.Rejection;
import lsmlab.server.variant.VariantSettings;
import lsmlab.server.variant.Variants;
import lsmlab.storage.CorruptionException;
import lsmlab.storage.OverloadedException;
import lsmlab.storage.ReadOnlyException;
import lsmlab.storage.ValueSink;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests the responses that clients get while the service is overloaded, and afterwards. */
class OverloadTest {

  private static final VariantSettings SMALL =
      new VariantSettings(2, 4, TimeUnit.SECONDS.toNanos(60));

  private static final int REFUSALS_PER_SECOND_MAX = 5_000;

  /** An engine whose operations wait for a permit. */
  private static final class SlowEngine extends MapEngine {
    final Semaphore permits = new Semaphore(0);
    final Semaphore arrived = new Semaphore(0);

    @Override
    protected void before(byte[] key) {
      if (key[0] == 's') {
        arrived.release();
        permits.acquireUninterruptibly();
      }
    }

    /** Keeps its pairs, so that the test can look at them. */
    @Override
    public void close() {}
  }

  static Stream<String> variantsThatQueue() {
    List<String> others = List.of("sync", "per-core", "synchronous", "virtual-threads");
    return Variants.all().stream().map(Variants.Entry::name).filter(name -> !others.contains(name));
  }

  static Stream<String> variants() {
    return Variants.all().stream().map(Variants.Entry::name);
  }

  @ParameterizedTest
  @MethodSource("variantsThatQueue")
  void requestsBeyondTheMemoryBudgetGet503AndTheConnectionStays(String variant) throws IOException {
    SlowEngine engine = new SlowEngine();
    try (TestServer server = new TestServer(variant, engine, SMALL, 1000)) {
      engine.put("k".getBytes(US_ASCII), "v".getBytes(US_ASCII));
      List<RawClient> clients = new ArrayList<>();
      int count = 40;
      for (int i = 0; i < count; i++) {
        RawClient client = server.connect();
        client.send(ConformanceCases.get("id=s"));
        clients.add(client);
      }
      // every request is either rejected at once or held by the gate
      Eventually.equal(
          count,
          () ->
              (int) rejected(server)
                  + engine.arrived.availablePermits()
                  + server.variant().queueDepth(),
          "requests accounted for");
      long rejected = rejected(server);
      assertTrue(rejected >= count - 4 - 8, "rejected " + rejected);
      assertTrue(rejected < count, "some are accepted");
      engine.permits.release(count);
      int unavailable = 0;
      for (RawClient client : clients) {
        RawClient.Response response = client.read();
        if (response.status() == 503) {
          unavailable++;
          assertEquals("1", response.headers().get("retry-after"));
        } else {
          assertEquals(404, response.status());
        }
      }
      assertEquals(rejected, unavailable);
      for (RawClient client : clients) {
        Eventually.equal(200, () -> status(client, ConformanceCases.get("id=k")), "recovers");
        client.close();
      }
    }
  }

  private static int status(RawClient client, String request) {
    try {
      return client.exchange(request).status();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @ParameterizedTest
  @MethodSource("variantsThatQueue")
  void aRefusedClientIsPausedBrieflyAndGetsAllItsResponses(String variant) throws IOException {
    SlowEngine engine = new SlowEngine();
    try (TestServer server =
        new TestServer(
            variant, engine, SMALL, 1000, TestServer.MAX_VALUE_BYTES, 2, REFUSALS_PER_SECOND_MAX)) {
      engine.put("k".getBytes(US_ASCII), "v".getBytes(US_ASCII));
      List<RawClient> clients = new ArrayList<>();
      int workers = variant.equals("sharded") ? 1 : 2; // that this key can keep busy
      for (int i = 0; i < 10 || engine.arrived.availablePermits() < workers; i++) {
        clients.add(server.connect().send(ConformanceCases.get("id=s")));
        accountedFor(clients.size(), server, engine);
      }
      for (int i = 0; i < 10; i++) { // what the last workers took from the queue left room in it
        clients.add(server.connect().send(ConformanceCases.get("id=s")));
        accountedFor(clients.size(), server, engine);
      }
      long before = rejected(server);
      int count = 20;
      try (RawClient eager = server.connect()) {
        long start = System.nanoTime();
        eager.send(ConformanceCases.get("id=s").repeat(count));
        for (int i = 0; i < count; i++) {
          assertEquals(503, eager.read().status());
        }
        // all connections share the limit of refusals: a pause after each but the last
        long least =
            (count - 1)
                * (clients.size() + 1L)
                * TimeUnit.SECONDS.toNanos(1)
                / REFUSALS_PER_SECOND_MAX;
        assertTrue(System.nanoTime() - start >= least, "refused faster than is allowed");
        assertEquals(before + count, rejected(server));
        engine.permits.release(1000);
        int last;
        do { // until the queue has room again
          last = eager.exchange(ConformanceCases.get("id=k")).status();
        } while (last == 503 && System.nanoTime() - start < TimeUnit.SECONDS.toNanos(60));
        assertEquals(200, last);
      }
      for (RawClient client : clients) {
        client.close();
      }
    }
  }

  private static void accountedFor(int count, TestServer server, SlowEngine engine) {
    Eventually.equal(
        count,
        () ->
            (int) rejected(server)
                + engine.arrived.availablePermits()
                + server.variant().queueDepth(),
        "requests accounted for");
  }

  @Test
  void aClientThatClosesAfterARefusalGetsItsRemainingResponses() throws IOException {
    MapEngine engine =
        new MapEngine() {
          @Override
          protected void before(byte[] key) {
            throw new OverloadedException("flushes do not keep up");
          }
        };
    try (TestServer server = new TestServer("queue", engine);
        RawClient client = server.connect()) {
      client.send(ConformanceCases.put("id=o", "v").repeat(5));
      client.shutdownOutput();
      for (int i = 0; i < 5; i++) {
        assertEquals(503, client.read().status());
      }
      assertTrue(client.isClosedByPeer());
    }
  }

  private static long rejected(TestServer server) {
    return Stream.of(Rejection.values()).mapToLong(server.metrics::rejected).sum();
  }

  @ParameterizedTest
  @MethodSource("variants")
  void failuresOfTheStorageAreAnsweredAndTheConnectionStays(String variant) throws IOException {
    MapEngine engine =
        new MapEngine() {
          @Override
          protected void before(byte[] key) {
            switch (key[0]) {
              case 'o' -> throw new OverloadedException("flushes do not keep up");
              case 'r' -> throw new ReadOnlyException("the disk is full: free some space");
              case 'c' -> throw new CorruptionException("000001.sst: checksum at 4096");
              case 'e' -> throw new AssertionError("an error");
              case 'i' -> throw new InternalError("a fault in an unsafe memory access operation");
              default -> {
                // the engine works
              }
            }
          }

          @Override
          public boolean get(byte[] key, int keyOffset, int keyLength, ValueSink sink) {
            if (key[keyOffset] == 'l') {
              // Compiled code notices a fault late: the value has been handed over then.
              sink.accept(MemorySegment.ofArray(new byte[1000]), 0, 1000);
              throw new InternalError("a fault in an unsafe memory access operation");
            }
            return super.get(key, keyOffset, keyLength, sink);
          }
        };
    try (TestServer server = new TestServer(variant, engine);
        RawClient client = server.connect()) {
      RawClient.Response heldBack = client.exchange(ConformanceCases.put("id=o", "v"));
      assertEquals(503, heldBack.status());
      assertEquals("1", heldBack.headers().get("retry-after"));
      RawClient.Response readOnly = client.exchange(ConformanceCases.put("id=r", "v"));
      assertEquals(503, readOnly.status());
      assertEquals("the disk is full: free some space\n", readOnly.body());
      assertEquals(500, client.exchange(ConformanceCases.get("id=c")).status());
      for (int i = 0; i < 20; i++) { // more often than there are workers
        assertEquals(500, client.exchange(ConformanceCases.get("id=i")).status());
      }
      assertEquals(500, client.exchange(ConformanceCases.get("id=e")).status());
      assertEquals(500, client.exchange(ConformanceCases.get("id=l")).status());
      assertEquals(500, client.exchange(ConformanceCases.put("id=i", "v")).status());
      assertEquals(500, client.exchange(ConformanceCases.put("id=c", "v")).status());
      String delete = ConformanceCases.request("DELETE", "/v0/entity?id=i", "");
      assertEquals(500, client.exchange(delete).status());
      String range = ConformanceCases.request("GET", "/v0/entities?start=c", "");
      assertEquals(500, client.exchange(range).status());
      assertEquals(404, client.exchange(ConformanceCases.get("id=x")).status());
    }
  }

  @Test
  void connectionsOverTheLimitAreRefused() throws IOException {
    try (TestServer server = new TestServer("sync", new MapEngine(), SMALL, 2)) {
      RawClient first = server.connect();
      assertEquals(404, first.exchange(ConformanceCases.get("id=x")).status());
      try (RawClient second = server.connect()) {
        assertEquals(404, second.exchange(ConformanceCases.get("id=x")).status());
        try (RawClient third = server.connect()) {
          assertEquals(503, third.read().status());
          assertTrue(third.isClosedByPeer());
        }
        first.close();
        Eventually.equal(1, () -> server.metrics.connections().get(), "connections");
        try (RawClient fourth = server.connect()) {
          assertEquals(404, fourth.exchange(ConformanceCases.get("id=x")).status());
        }
        assertEquals(404, second.exchange(ConformanceCases.get("id=x")).status());
      }
    }
  }

  @ParameterizedTest
  @MethodSource("variants")
  void aStopAnswersRequestsInFlightAndRefusesOthers(String variant) throws Exception {
    SlowEngine engine = new SlowEngine();
    TestServer server = new TestServer(variant, engine, SMALL, 1000);
    RawClient idle = server.connect();
    assertEquals(404, idle.exchange(ConformanceCases.get("id=x")).status());
    RawClient busy = server.connect();
    busy.send(ConformanceCases.put("id=s", "v"));
    engine.arrived.acquire();
    Thread stop = Thread.ofPlatform().start(server::close);
    if (!List.of("sync", "per-core").contains(variant)) {
      assertTrue(idle.isClosedByPeer());
    }
    engine.permits.release(10);
    assertEquals(201, busy.read().status());
    assertTrue(busy.isClosedByPeer());
    stop.join();
    assertEquals("v", new String(engine.pairs.get("s".getBytes(US_ASCII)), US_ASCII));
    assertThrows(IOException.class, server::connect);
    idle.close();
    busy.close();
  }
}
