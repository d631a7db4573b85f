package lsmlab.server.variant;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import lsmlab.server.http.Eventually;
import lsmlab.server.request.Rejection;
import lsmlab.server.variant.Probes.Blocker;
import lsmlab.server.variant.Probes.Probe;
import org.junit.jupiter.api.Test;

/** Uses a clock that only advances when the test moves it. */
class AdaptiveLifoVariantTest {

  private static final long MILLI = 1_000_000;

  private final AtomicLong now = new AtomicLong();
  private final List<Integer> order = new CopyOnWriteArrayList<>();
  private final List<Integer> rejected = new CopyOnWriteArrayList<>();
  private final Variant variant =
      new AdaptiveLifoVariant(new VariantSettings(1, 64, 100 * MILLI), now::get);

  /** A request that arrives now. */
  private final class Numbered extends Probe {
    private final int number;
    private final long since = now.get();

    Numbered(int number) {
      super(0);
      this.number = number;
    }

    @Override
    public void execute() {
      order.add(number);
      super.execute();
    }

    @Override
    public void reject(Rejection why) {
      assertEquals(Rejection.DEADLINE, why);
      rejected.add(number);
      super.reject(why);
    }

    @Override
    public long arrivedNanos() {
      return since;
    }
  }

  private Blocker block() throws InterruptedException {
    Blocker blocker =
        new Blocker(0) {
          @Override
          public long arrivedNanos() {
            return 0;
          }
        };
    variant.submit(blocker);
    blocker.started.await();
    return blocker;
  }

  private void submit(int... numbers) {
    for (int number : numbers) {
      variant.submit(new Numbered(number));
    }
  }

  @Test
  void withoutOverloadTheOldestGoesFirst() throws InterruptedException {
    Blocker blocker = block();
    submit(1, 2, 3);
    now.addAndGet(99 * MILLI);
    blocker.end.countDown();
    variant.close();
    assertEquals(List.of(1, 2, 3), order);
    assertEquals(List.of(), rejected);
  }

  @Test
  void underOverloadTheNewestGoesFirstAndLateRequestsAreRefused() throws InterruptedException {
    Blocker blocker = block();
    submit(1, 2);
    now.addAndGet(97 * MILLI);
    submit(3, 4, 5);
    now.addAndGet(4 * MILLI); // 101 ms without an empty queue
    blocker.end.countDown();
    variant.close();
    assertEquals(List.of(1, 2), rejected);
    assertEquals(List.of(5, 4, 3), order);
  }

  @Test
  void withoutOverloadARequestIsRefusedAfterTheWholeInterval() throws InterruptedException {
    Blocker blocker = block();
    now.addAndGet(50 * MILLI);
    submit(1);
    now.addAndGet(100 * MILLI);
    submit(2);
    blocker.end.countDown();
    variant.close();
    assertEquals(List.of(), rejected);
    assertEquals(List.of(1, 2), order);
  }

  @Test
  void anOverloadEndsAsSoonAsTheQueueIsEmpty() throws InterruptedException {
    Blocker blocker = block();
    submit(1);
    now.addAndGet(200 * MILLI);
    submit(2);
    blocker.end.countDown();
    Eventually.equal(1, order::size, "runs");
    Eventually.equal(0, variant::queueDepth, "waits");
    Blocker second =
        new Blocker(0) {
          @Override
          public long arrivedNanos() {
            return now.get();
          }
        };
    variant.submit(second);
    second.started.await();
    submit(3, 4);
    now.addAndGet(50 * MILLI);
    second.end.countDown();
    variant.close();
    assertEquals(List.of(1), rejected);
    assertEquals(List.of(2, 3, 4), order);
  }
}
