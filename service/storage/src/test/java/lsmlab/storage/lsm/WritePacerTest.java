package lsmlab.storage.lsm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import lsmlab.storage.concurrent.RateLimit;
import org.junit.jupiter.api.Test;

class WritePacerTest {

  /** A clock that only advances when someone sleeps. */
  private static final class Time implements RateLimit.Clock {
    long now = Long.MAX_VALUE - 1_000_000_000;

    @Override
    public long nanos() {
      return now;
    }

    @Override
    public void sleep(long nanos) {
      now += nanos;
    }
  }

  private final Time time = new Time();
  private final WritePacer pacer = new WritePacer(time);

  private double millisOf(Runnable action) {
    long start = time.now;
    action.run();
    return (time.now - start) / 1e6;
  }

  @Test
  void smallWritesKeepToTheRate() {
    double millis =
        millisOf(
            () -> {
              for (int i = 0; i < 10_000; i++) {
                pacer.pace(500, 5e6);
              }
            });
    assertEquals(1_000, millis, 20);
  }

  @Test
  void largeWritesLeaveNoDebt() {
    for (int i = 0; i < 400; i++) {
      double millis = millisOf(() -> pacer.pace(200_000, 1e6));
      assertTrue(millis <= 100, millis + " ms");
    }
    assertEquals(
        0, millisOf(() -> pacer.pace(1, 1e6)), 0.001, "a small write waits for no large one");
  }

  @Test
  void theDebtOfManyThreadsIsBounded() {
    // As if many threads wrote at the same moment.
    for (int i = 0; i < 10_000; i++) {
      long before = time.now;
      pacer.pace(15_000, 1e6);
      assertTrue(time.now - before <= WritePacer.DEBT_NANOS_MAX);
      time.now = before;
    }
    time.now += WritePacer.DEBT_NANOS_MAX;
    assertEquals(0, millisOf(() -> pacer.pace(1, 1e6)), 0.001);
  }

  @Test
  void anInfiniteRateDelaysNothing() {
    assertEquals(0, millisOf(() -> pacer.pace(1 << 30, Double.POSITIVE_INFINITY)));
  }
}
