package lsmlab.storage.lsm;

import java.util.concurrent.atomic.AtomicLong;
import lsmlab.storage.concurrent.RateLimit;

/**
 * Delays writes so that together they keep to a rate. Each write is charged the time that its bytes
 * take at the current rate, and waits until the sum of all charges is due.
 *
 * <p>The debt never exceeds {@link #DEBT_NANOS_MAX}, so no write waits longer than that for others.
 * A write that alone takes longer than that is large. Large writes have a separate debt, for which
 * small writes do not wait. If the limit on the debt lets too many writes through, the limit on
 * memory stops them. Thread-safe.
 */
final class WritePacer {

  /**
   * Shorter delays are added up and slept together, because any sleep takes at least about 60 µs.
   */
  private static final long SLEEP_NANOS_MIN = 200_000;

  /** Longest wait of a small write. */
  static final long DEBT_NANOS_MAX = 20_000_000;

  /** Longest wait of a large write. */
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
