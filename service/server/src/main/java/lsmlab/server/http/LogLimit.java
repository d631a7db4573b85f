package lsmlab.server.http;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** Lets one entry in ten seconds into the log, where clients can cause an entry with each request. Thread-safe. */
public final class LogLimit {

  private static final long NANOS = TimeUnit.SECONDS.toNanos(10);

  private final AtomicLong nextNanos = new AtomicLong(System.nanoTime());

  /** Whether the caller may log now. Others then may not for ten seconds. */
  public boolean allows() {
    long now = System.nanoTime();
    long next = nextNanos.get();
    return now - next >= 0 && nextNanos.compareAndSet(next, now + NANOS);
  }
}
