package lsmlab.server;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Proxy;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import lsmlab.server.admin.StoppingException;
import lsmlab.storage.Engine;
import org.junit.jupiter.api.Test;

class EngineGuardTest {

  /** An engine whose methods all do the same. */
  private static Engine engine(Callable<Object> action) {
    Class<?>[] types = {Engine.class};
    return (Engine)
        Proxy.newProxyInstance(
            Engine.class.getClassLoader(), types, (proxy, method, arguments) -> action.call());
  }

  @Test
  void refusesEveryCallOnceShut() {
    EngineGuard guard = new EngineGuard(engine(() -> null));
    guard.stats();
    guard.quiesce();
    assertTrue(guard.shut(TimeUnit.SECONDS.toNanos(60)));
    assertThrows(StoppingException.class, guard::stats);
    assertThrows(StoppingException.class, guard::flush);
    assertThrows(StoppingException.class, guard::compact);
    assertThrows(StoppingException.class, guard::quiesce);
  }

  @Test
  void shutReturnsAfterTheLastCall() throws InterruptedException {
    CountDownLatch called = new CountDownLatch(1);
    CountDownLatch mayReturn = new CountDownLatch(1);
    boolean[] returned = new boolean[1];
    EngineGuard guard =
        new EngineGuard(
            engine(
                () -> {
                  called.countDown();
                  mayReturn.await();
                  returned[0] = true;
                  return null;
                }));
    Thread compaction = Thread.ofPlatform().start(guard::compact);
    called.await();
    Thread opener = Thread.ofPlatform().start(mayReturn::countDown);
    assertTrue(guard.shut(TimeUnit.SECONDS.toNanos(60)));
    assertTrue(returned[0], "shut during a call");
    opener.join();
    compaction.join();
  }
}
