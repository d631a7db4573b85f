package lsmlab.storage.concurrent;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * Keeps work to a number of bytes a second: whoever has done a piece pays for it, and waits until its time is due. Time
 * that the work itself takes counts; time in which nothing was paid for is not saved up, so there is no burst after a
 * pause. One user at a time.
 */
public final class RateLimit {

  /** Time, and how it passes. */
  public interface Clock {

    /** The machine's. */
    Clock SYSTEM =
        new Clock() {
          @Override
          public long nanos() {
            return System.nanoTime();
          }

          @Override
          public void sleep(long nanos) {
            LockSupport.parkNanos(nanos);
          }
        };

    /** Nanoseconds since some moment. */
    long nanos();

    /** Returns after about so many nanoseconds, or earlier. */
    void sleep(long nanos);
  }

  /** Longest sleep before the question whether to stop is asked again. */
  private static final long SLEEP_NANOS_MAX = TimeUnit.MILLISECONDS.toNanos(20);

  private final long bytesPerSecond;
  private final Clock clock;
  private final BooleanSupplier stop;
  private long paidUntil;

  /**
   * @param bytesPerSecond 0 for no limit
   * @param stop whether to wait no longer
   */
  public RateLimit(long bytesPerSecond, Clock clock, BooleanSupplier stop) {
    this.bytesPerSecond = bytesPerSecond;
    this.clock = clock;
    this.stop = stop;
    this.paidUntil = clock.nanos();
  }

  /** Pays for what was done since the last call, or since this object was made; returns when that is due. */
  public void pay(long bytes) {
    if (bytesPerSecond == 0) {
      return;
    }
    long cost = (long) (bytes * (1e9 / bytesPerSecond));
    long now = clock.nanos();
    // Later than the rate demands: what is missing is not made up for.
    paidUntil = paidUntil + cost - now < 0 ? now : paidUntil + cost;
    while (paidUntil - now > 0 && !stop.getAsBoolean()) {
      clock.sleep(Math.min(paidUntil - now, SLEEP_NANOS_MAX));
      now = clock.nanos();
    }
  }
}
