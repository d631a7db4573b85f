package lsmlab.server.variant;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import lsmlab.server.variant.Probes.Blocker;
import lsmlab.server.variant.Probes.Probe;
import lsmlab.storage.WriteBatch;
import org.junit.jupiter.api.Test;

class QueueBatchVariantTest {

  private static final long MINUTE = 60_000_000_000L;
  private static final int PUT = 1;
  private static final int GET = 0;

  /** Lets one worker find all the requests at once. */
  private static void runTogether(int batch, Consumer<WriteBatch> storage, List<Probe> requests)
      throws InterruptedException {
    Variant variant =
        new QueueBatchVariant(
            new VariantSettings(1, 64, MINUTE).withBatch(batch).withStorage(storage));
    Blocker blocker = new Blocker(GET);
    variant.submit(blocker);
    blocker.started.await();
    requests.forEach(variant::submit);
    blocker.end.countDown();
    variant.close();
  }

  private static List<Probe> probes(int... kinds) {
    return new ArrayList<>(IntStream.of(kinds).mapToObj(Probe::new).toList());
  }

  @Test
  void oneWriteServesAllWritesOfABatch() throws InterruptedException {
    List<Integer> writes = new CopyOnWriteArrayList<>();
    List<Probe> requests = probes(PUT, GET, PUT, PUT, GET, PUT, PUT, PUT);
    runTogether(4, batch -> writes.add(batch.size()), requests);
    assertEquals(List.of(3, 3), writes);
    for (Probe request : requests) {
      assertEquals(1, request.sends.get());
      assertNull(request.failure);
    }
  }

  @Test
  void nothingIsSentBeforeTheWriteHasReturned() throws InterruptedException {
    List<Probe> requests = probes(PUT, GET, PUT);
    runTogether(
        8, batch -> requests.forEach(request -> assertEquals(0, request.sends.get())), requests);
    for (Probe request : requests) {
      assertNull(request.failure);
      assertEquals(1, request.sends.get());
    }
  }

  @Test
  void aBatchWithoutWritesDoesNotReachTheStorage() throws InterruptedException {
    List<Integer> writes = new CopyOnWriteArrayList<>();
    runTogether(8, batch -> writes.add(batch.size()), probes(GET, GET, GET));
    assertEquals(List.of(), writes);
  }

  @Test
  void everyWriteOfABatchReportsThatTheStorageFailed() throws InterruptedException {
    IllegalStateException closed = new IllegalStateException("closed");
    List<Probe> requests = probes(PUT, GET, PUT);
    runTogether(
        8,
        batch -> {
          throw closed;
        },
        requests);
    assertSame(closed, requests.get(0).failure);
    assertNull(requests.get(1).failure);
    assertSame(closed, requests.get(2).failure);
  }

  @Test
  void aWriteThatNoEngineAcceptsFailsAlone() throws InterruptedException {
    List<Probe> requests = probes(PUT, PUT);
    requests.add(
        1,
        new Probe(PUT) {
          @Override
          public void addTo(WriteBatch batch) {
            batch.put(new byte[0], 0, 0, new byte[0], 0, 0);
          }
        });
    List<Integer> writes = new CopyOnWriteArrayList<>();
    runTogether(8, batch -> writes.add(batch.size()), requests);
    assertEquals(List.of(2), writes);
    assertNull(requests.get(0).failure);
    assertInstanceOf(IllegalArgumentException.class, requests.get(1).failure);
    assertNull(requests.get(2).failure);
    assertEquals(1, requests.get(1).sends.get());
  }
}
