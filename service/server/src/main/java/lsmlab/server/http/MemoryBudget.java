package lsmlab.server.http;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Bytes that all connections together may make the server hold for one purpose. Thread-safe.
 *
 * <p>Large amounts are refused once half of the budget is held, small ones once all of it is held, so that a few
 * clients with large values cannot keep everyone else out.
 */
final class MemoryBudget {

  /** Amounts up to this one are small. */
  static final int SMALL_BYTES = 16 * 1024;

  private final AtomicLong held = new AtomicLong();
  private final long bytesMax;

  MemoryBudget(long bytesMax) {
    this.bytesMax = bytesMax;
  }

  /** Reserves {@code bytes} if there is room for them; {@link #release} gives them back. */
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
    held.addAndGet(-bytes);
  }

  /** Whether {@code bytes} more would fit now. */
  boolean hasRoomFor(long bytes) {
    return held.get() + bytes <= limit(bytes);
  }

  /** Whether large amounts are refused now. */
  boolean isShort() {
    return held.get() > bytesMax / 2;
  }

  /** Bytes held now. */
  long held() {
    return held.get();
  }

  private long limit(long bytes) {
    return bytes <= SMALL_BYTES ? bytesMax : bytesMax / 2;
  }
}
