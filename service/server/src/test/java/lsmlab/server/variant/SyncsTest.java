package lsmlab.server.variant;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import lsmlab.server.http.RawClient;
import lsmlab.server.http.TestServer;
import lsmlab.server.variant.Probes.Blocker;
import lsmlab.server.variant.Probes.Probe;
import lsmlab.storage.Durability;
import lsmlab.storage.Engine;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.lsm.LsmEngine;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Counts the WAL's syncs for the same PUTs with {@code durability: power}, by variant. */
class SyncsTest {

  private static final int PUTS = 48;

  @TempDir Path directory;

  /** A PUT that reaches the engine. */
  private static final class Put extends Probe {
    private final Engine engine;

    Put(Engine engine, int number) {
      super(number);
      this.engine = engine;
    }

    @Override
    public Kind kind() {
      return Kind.PUT;
    }

    @Override
    public void execute() {
      engine.put(("key" + hash).getBytes(UTF_8), new byte[100]);
      super.execute();
    }
  }

  /** Syncs for {@value #PUTS} PUTs, which wait together if the variant has a queue. */
  private long syncs(String variant, Blocker blocker) throws InterruptedException {
    LsmOptions options =
        LsmOptions.builder(directory.resolve(variant)).durability(Durability.POWER).build();
    try (Engine engine = LsmEngine.open(options)) {
      VariantSettings settings =
          new VariantSettings(1, 64, 60_000_000_000L).withBatch(16).withStorage(engine::write);
      Variant tested = Variants.find(variant).orElseThrow().factory().apply(settings);
      if (blocker != null) {
        tested.submit(blocker);
        blocker.started.await();
      }
      long before = engine.stats().walSyncs();
      List<Put> puts = new ArrayList<>();
      for (int i = 0; i < PUTS; i++) {
        Put put = new Put(engine, i);
        puts.add(put);
        tested.submit(put);
      }
      if (blocker != null) {
        blocker.end.countDown();
      }
      tested.close();
      for (Put put : puts) {
        assertEquals(1, put.sends.get());
      }
      return engine.stats().walSyncs() - before;
    }
  }

  @Test
  void oneSyncForEachPutOnTheSelector() throws InterruptedException {
    assertEquals(PUTS, syncs("sync", null));
    assertEquals(PUTS, syncs("per-core", null));
  }

  @Test
  void oneSyncForEachPipelinedPutOverHttp() throws IOException {
    LsmOptions options =
        LsmOptions.builder(directory.resolve("http")).durability(Durability.POWER).build();
    Engine engine = LsmEngine.open(options);
    try (TestServer server = new TestServer("sync", engine)) {
      long before = engine.stats().walSyncs();
      String put = "PUT /v0/entity?id=k HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nv";
      // one connection, because writes of two selectors may share a sync in the engine
      try (RawClient client = server.connect().send(put.repeat(PUTS))) {
        for (int i = 0; i < PUTS; i++) {
          assertEquals(201, client.read().status());
        }
      }
      assertEquals(PUTS, engine.stats().walSyncs() - before);
    }
  }

  @Test
  void oneSyncForEachPutThroughAQueue() throws InterruptedException {
    assertEquals(PUTS, syncs("queue", new Blocker(0)));
  }

  @Test
  void oneSyncForEachBatch() throws InterruptedException {
    assertEquals(PUTS / 16, syncs("queue-batch", new Blocker(0)));
  }
}
