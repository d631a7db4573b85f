package lsmlab.storage.lsm;

import java.util.concurrent.atomic.AtomicLong;
import lsmlab.storage.concurrent.RateLimit;

/**
 * Delays writes so that all together keep to a rate. Each write is charged the time that its bytes take at the rate of the
 * moment, and waits until what was charged before it is due.
 *
 * <p>Nobody is charged for more than can be waited for: the debt never exceeds {@link #DEBT_NANOS_MAX}, so a write waits no
 * longer than that for others. A large write, whose own time is longer, has a debt of its own kind that small writes do
 * not wait for. What a bounded debt lets through is stopped by the bound on memory. Thread-safe.
 */
final class WritePacer {

  /** Shorter delays are saved up: a sleep takes at least some 60 µs. */
  private static final long SLEEP_NANOS_MIN = 200_000;

  /** The longest a small write waits. */
  static final long DEBT_NANOS_MAX = 20_000_000;

  /** The longest a large write waits. */
  static final long LARGE_DEBT_NANOS_MAX = 100_000_000;

  private final RateLimit.Clock clock;
  private final AtomicLong paidUntil;
  private final AtomicLong largePaidUntil;

  WritePacer(RateLimit.Clock clock) {
    this.clock = clock;
    this.paidUntil = new AtomicLong(clock.nanos());
    this.largePaidUntil = new AtomicLong(clock.nanos());
  }

  /**
   * Charges a write and waits until it is due.
   *
   * @param bytesPerSecond may be infinite
   */
  void pace(long bytes, double bytesPerSecond) {
    if (bytesPerSecond == Double.POSITIVE_INFINITY) {
      return;
    }
    long cost = (long) (bytes * 1e9 / bytesPerSecond);
    boolean large = cost > DEBT_NANOS_MAX;
    long now = clock.nanos();
    long limit = now + (large ? LARGE_DEBT_NANOS_MAX : DEBT_NANOS_MAX);
    long until =
        (large ? largePaidUntil : paidUntil)
            .updateAndGet(paid -> earlier(later(paid, now) + cost, limit));
    if (until - now >= SLEEP_NANOS_MIN) {
      clock.sleep(until - now);
    }
  }

  // Differences, because the clock may start anywhere.
  private static long later(long a, long b) {
    return a - b > 0 ? a : b;
  }

  private static long earlier(long a, long b) {
    return a - b < 0 ? a : b;
  }
}
