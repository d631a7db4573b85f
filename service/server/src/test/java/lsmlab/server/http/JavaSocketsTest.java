package lsmlab.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import lsmlab.server.admin.Environment;
import lsmlab.server.variant.VariantSettings;
import org.junit.jupiter.api.Test;

/** The server on the JDK's sockets, which it uses if one-nio's native transport cannot be loaded. */
class JavaSocketsTest {

  private static final VariantSettings SETTINGS =
      new VariantSettings(1, 4, TimeUnit.SECONDS.toNanos(60));

  @Test
  void onlyTheSelectorsThreadClosesASocketHoweverOftenAnotherThreadAsks() throws Exception {
    assumeFalse(Environment.nativeTransport(), "for the JDK's sockets only");
    Semaphore arrived = new Semaphore(0);
    Semaphore permits = new Semaphore(0);
    MapEngine engine =
        new MapEngine() {
          @Override
          protected void before(byte[] key) {
            arrived.release();
            permits.acquireUninterruptibly();
          }
        };
    try (TestServer server = new TestServer("sync", engine, SETTINGS, 10, 100, 1);
        RawClient busy = server.connect();
        RawClient idle = server.connect()) {
      Eventually.equal(2, () -> server.server().getConnections(), "connections");
      busy.send(ConformanceCases.get("id=k"));
      arrived.acquire(); // the only selector's thread waits in the engine
      CompletableFuture<Boolean> drained =
          CompletableFuture.supplyAsync(() -> server.server().drain(TimeUnit.SECONDS.toNanos(10)));
      assertEquals("", idle.readToEnd());
      Thread.sleep(50); // drain() asks every millisecond
      int connections = server.server().getConnections();
      permits.release();
      assertEquals(2, connections);
      assertEquals(404, busy.read().status());
      assertTrue(drained.get(10, TimeUnit.SECONDS));
    }
  }
}
