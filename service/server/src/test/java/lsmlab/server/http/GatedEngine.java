package lsmlab.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Semaphore;
import lsmlab.storage.OverloadedException;
import lsmlab.storage.ReadOnlyException;
import lsmlab.storage.WriteBatch;

/** A GET of "s" holds the selector thread up, and while the gate is shut so do writes. */
final class GatedEngine extends MapEngine {
  final Semaphore arrived = new Semaphore(0);
  final Semaphore permits = new Semaphore(0);
  final Semaphore writing = new Semaphore(0);
  final Semaphore gate = new Semaphore(1000);
  final List<Integer> sizes = new CopyOnWriteArrayList<>();

  @Override
  protected void before(byte[] key) {
    switch (key[0]) {
      case 's' -> {
        arrived.release();
        permits.acquireUninterruptibly();
      }
      case 'o' -> throw new OverloadedException("flushes do not keep up");
      case 'r' -> throw new ReadOnlyException("the disk is full: free some space");
      case 'e' -> throw new AssertionError("an error");
      default -> {
        // works
      }
    }
  }

  @Override
  public void write(WriteBatch batch) {
    writing.release();
    gate.acquireUninterruptibly();
    sizes.add(batch.size());
    super.write(batch);
  }

  /** Has these requests, each of a connection of its own, arrive while the selector thread is busy elsewhere. */
  List<RawClient> inOneTurn(TestServer server, List<String> requests) throws Exception {
    List<RawClient> clients = new ArrayList<>();
    for (int i = 0; i < requests.size(); i++) {
      clients.add(server.connect());
      assertEquals(404, clients.get(i).exchange(ConformanceCases.get("id=x")).status());
    }
    try (RawClient blocking = server.connect()) {
      blocking.send(ConformanceCases.get("id=s"));
      arrived.acquire();
      for (int i = 0; i < requests.size(); i++) {
        clients.get(i).send(requests.get(i)); // over loopback it is there when this returns
      }
      permits.release();
      assertEquals(404, blocking.read().status());
    }
    return clients;
  }
}
