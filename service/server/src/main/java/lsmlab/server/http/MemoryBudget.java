package lsmlab.server.http;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Bytes that all connections together may make the server hold for one purpose. Thread-safe.
 *
 * <p>Large amounts are refused once half of it is held, small ones once all of it is: so that a few clients with large
 * values cannot keep everyone else out.
 */
final class MemoryBudget {

  /** Amounts up to this one are small. */
  static final int SMALL_BYTES = 16 * 1024;

  private final AtomicLong held = new AtomicLong();
  private final long bytesMax;

  MemoryBudget(long bytesMax) {
    this.bytesMax = bytesMax;
  }

  /** Holds that many bytes more if there is room for them; {@link #release} gives them back. */
  boolean tryHold(long bytes) {
    if (held.addAndGet(bytes) <= limit(bytes)) {
      return true;
    }
    release(bytes);
    return false;
  }

  /** Holds that many bytes more, of something that is there already. */
  void hold(long bytes) {
    held.addAndGet(bytes);
  }

  void release(long bytes) {
    held.addAndGet(-bytes);
  }

  /** Whether that many bytes more would fit now. */
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
