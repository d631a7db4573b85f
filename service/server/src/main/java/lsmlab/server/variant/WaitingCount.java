package lsmlab.server.variant;

import java.util.concurrent.atomic.AtomicInteger;

/** Bounds the number of requests that wait in a queue without a bound of its own. Thread-safe. */
final class WaitingCount {

  private final int capacity;
  private final AtomicInteger waiting = new AtomicInteger();

  WaitingCount(int capacity) {
    this.capacity = capacity;
  }

  /** Counts one more request; false, without counting it, if the bound is reached. */
  boolean enter() {
    if (waiting.incrementAndGet() > capacity) {
      waiting.decrementAndGet();
      return false;
    }
    return true;
  }

  /** Counts one request less. */
  void leave() {
    int left = waiting.decrementAndGet();
    assert left >= 0 : "more requests left than entered";
  }

  /** Requests that wait now, from 0 to the capacity. */
  int get() {
    return Math.clamp(waiting.get(), 0, capacity);
  }

  int capacity() {
    return capacity;
  }
}
