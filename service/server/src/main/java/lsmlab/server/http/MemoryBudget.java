package lsmlab.server.http;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Limits the bytes that all connections together may make the server hold for one purpose. Thread-safe.
 *
 * <p>Refuses large amounts once half of the budget is used, and small ones once all of it is used, so that a few
 * clients with large values cannot keep everyone else out.
 */
final class MemoryBudget {

  /** Largest amount in bytes that counts as small. */
  static final int SMALL_BYTES = 16 * 1024;

  private final AtomicLong held = new AtomicLong();
  private final long bytesMax;

  MemoryBudget(long bytesMax) {
    this.bytesMax = bytesMax;
  }

  /** Reserves {@code bytes} if the budget allows it. {@link #release} returns them. */
  boolean tryHold(long bytes) {
    if (held.addAndGet(bytes) <= limit(bytes)) {
      return true;
    }
    release(bytes);
    return false;
  }

  /** Reserves {@code bytes}, even beyond the limit, for data that is already in memory. */
  void hold(long bytes) {
    held.addAndGet(bytes);
  }

  void release(long bytes) {
    long left = held.addAndGet(-bytes);
    assert left >= 0 : "more bytes released than reserved";
  }

  /** Whether {@code bytes} more could be reserved now. */
  boolean hasRoomFor(long bytes) {
    return held.get() + bytes <= limit(bytes);
  }

  /** Whether large amounts are being refused. */
  boolean isShort() {
    return held.get() > bytesMax / 2;
  }

  /** Returns the number of bytes that are reserved now. */
  long held() {
    return held.get();
  }

  private long limit(long bytes) {
    return bytes <= SMALL_BYTES ? bytesMax : bytesMax / 2;
  }
}
