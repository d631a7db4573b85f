package lsmlab.storage.concurrent;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * Limits the number of bytes a second that a thread processes. After each piece of work the caller
 * pays for its bytes, and waits until the payment is due. The time that the work took counts
 * towards the wait. Unused time is not saved up, so there is no burst after a pause. Used by one
 * thread at a time.
 */
public final class RateLimit {

  /** A clock that can be replaced in tests. */
  public interface Clock {

    /** The clock of the machine. */
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

    /** Returns the time in nanoseconds since an arbitrary fixed moment. */
    long nanos();

    /** Sleeps for at most about this many nanoseconds. */
    void sleep(long nanos);
  }

  /** Longest sleep before {@code stop} is checked again. */
  private static final long SLEEP_NANOS_MAX = TimeUnit.MILLISECONDS.toNanos(20);

  private final long bytesPerSecond;
  private final Clock clock;
  private final BooleanSupplier stop;
  private long paidUntil;

  /**
   * @param bytesPerSecond the limit; 0 for no limit
   * @param stop returns true to end the wait early
   */
  public RateLimit(long bytesPerSecond, Clock clock, BooleanSupplier stop) {
    this.bytesPerSecond = bytesPerSecond;
    this.clock = clock;
    this.stop = stop;
    this.paidUntil = clock.nanos();
  }

  /**
   * Pays for the bytes processed since the last call, or since this object was created. Returns
   * once the payment is due.
   */
  public void pay(long bytes) {
    if (bytesPerSecond == 0) {
      return;
    }
    long cost = (long) (bytes * (1e9 / bytesPerSecond));
    long now = clock.nanos();
    // The work was slower than the rate allows. The difference is not saved up.
    paidUntil = paidUntil + cost - now < 0 ? now : paidUntil + cost;
    while (paidUntil - now > 0 && !stop.getAsBoolean()) {
      clock.sleep(Math.min(paidUntil - now, SLEEP_NANOS_MAX));
      now = clock.nanos();
    }
  }
}
