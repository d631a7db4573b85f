package lsmlab.storage.concurrent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/**
 * Uses a fake clock, which only advances when someone sleeps and when the test says that work took
 * time.
 */
class RateLimitTest {

  private static final long MILLI = 1_000_000;

  private final AtomicBoolean stop = new AtomicBoolean();
  private long now = -7 * MILLI; // a clock may count from anywhere
  private long slept;

  private final RateLimit.Clock clock =
      new RateLimit.Clock() {
        @Override
        public long nanos() {
          return now;
        }

        @Override
        public void sleep(long nanos) {
          assertTrue(nanos > 0 && nanos <= 20 * MILLI, "a sleep of " + nanos + " ns");
          now += nanos;
          slept += nanos;
        }
      };

  private RateLimit limit(long bytesPerSecond) {
    return new RateLimit(bytesPerSecond, clock, stop::get);
  }

  @Test
  void workTakesAtLeastTheTimeOfItsBytes() {
    RateLimit limit = limit(10_000);
    long start = now;
    for (int i = 1; i <= 50; i++) {
      limit.pay(200);
      assertEquals(i * 20 * MILLI, now - start);
    }
    limit.pay(5_000);
    assertEquals(1_500 * MILLI, now - start, "a large piece takes as long as many small ones");
  }

  @Test
  void theTimeOfTheWorkItselfCounts() {
    RateLimit limit = limit(10_000);
    long start = now;
    for (int i = 0; i < 50; i++) {
      now += 15 * MILLI;
      limit.pay(200);
    }
    assertEquals(1_000 * MILLI, now - start);
    assertEquals(250 * MILLI, slept);
  }

  @Test
  void slowWorkIsNotDelayedAndUnusedTimeIsNotSaved() {
    RateLimit limit = limit(10_000);
    for (int i = 0; i < 50; i++) {
      now += 100 * MILLI;
      limit.pay(200);
    }
    assertEquals(0, slept);
    long start = now;
    for (int i = 0; i < 50; i++) {
      limit.pay(200);
    }
    assertEquals(1_000 * MILLI, now - start, "no burst after a time below the rate");
  }

  @Test
  void withoutALimitNothingWaits() {
    RateLimit limit = limit(0);
    limit.pay(Long.MAX_VALUE);
    assertEquals(0, slept);
  }

  @Test
  void aStopEndsTheWait() {
    RateLimit.Clock stopping =
        new RateLimit.Clock() {
          @Override
          public long nanos() {
            return now;
          }

          @Override
          public void sleep(long nanos) {
            now += nanos;
            slept += nanos;
            stop.set(slept >= 100 * MILLI);
          }
        };
    RateLimit limit = new RateLimit(1, stopping, stop::get);
    limit.pay(1 << 30);
    assertEquals(100 * MILLI, slept);
    limit.pay(1 << 30);
    assertEquals(100 * MILLI, slept, "once stopped there is no wait at all");
  }
}
