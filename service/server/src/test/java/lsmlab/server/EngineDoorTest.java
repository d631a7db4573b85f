package lsmlab.server;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import lsmlab.server.admin.StoppingException;
import lsmlab.storage.Engine;
import org.junit.jupiter.api.Test;

class EngineDoorTest {

  /** An engine whose methods all do the same. */
  private static Engine engine(Callable<Object> action) {
    Class<?>[] types = {Engine.class};
    return (Engine)
        Proxy.newProxyInstance(
            Engine.class.getClassLoader(), types, (proxy, method, arguments) -> action.call());
  }

  @Test
  void onceShutItLeadsNoWhere() {
    EngineDoor door = new EngineDoor(engine(() -> null));
    door.stats();
    door.quiesce();
    assertTrue(door.shut(TimeUnit.SECONDS.toNanos(60)));
    assertThrows(StoppingException.class, door::stats);
    assertThrows(StoppingException.class, door::flush);
    assertThrows(StoppingException.class, door::compact);
    assertThrows(StoppingException.class, door::quiesce);
    assertThrows(StoppingException.class, () -> door.checkpoint(Path.of("/copy")));
  }

  @Test
  void itShutsBehindWhoeverIsInside() throws InterruptedException {
    CountDownLatch inside = new CountDownLatch(1);
    CountDownLatch leave = new CountDownLatch(1);
    boolean[] left = new boolean[1];
    EngineDoor door =
        new EngineDoor(
            engine(
                () -> {
                  inside.countDown();
                  leave.await();
                  left[0] = true;
                  return null;
                }));
    Thread compaction = Thread.ofPlatform().start(door::compact);
    inside.await();
    Thread opener = Thread.ofPlatform().start(leave::countDown);
    assertTrue(door.shut(TimeUnit.SECONDS.toNanos(60)));
    assertTrue(left[0], "shut while somebody was inside");
    opener.join();
    compaction.join();
  }
}
