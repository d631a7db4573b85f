package lsmlab.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.concurrent.locks.LockSupport;
import java.util.function.IntSupplier;

/** Waits for the result of another thread. */
public final class Eventually {

  private static final long NANOS_MAX = 60_000_000_000L;

  private Eventually() {}

  /** Returns once the value is as expected; fails if it is not after {@value #NANOS_MAX} ns. */
  public static void equal(int expected, IntSupplier actual, String what) {
    long deadline = System.nanoTime() + NANOS_MAX;
    int value = actual.getAsInt();
    while (value != expected && System.nanoTime() < deadline) {
      LockSupport.parkNanos(1_000_000);
      value = actual.getAsInt();
    }
    assertEquals(expected, value, what);
  }
}
