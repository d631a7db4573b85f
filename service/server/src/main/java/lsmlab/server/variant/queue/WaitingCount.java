package lsmlab.server.variant.queue;

import java.util.concurrent.atomic.AtomicInteger;

/** Bounds the number of requests that wait in a queue that has no bound itself. Thread-safe. */
public final class WaitingCount {

  private final int capacity;
  private final AtomicInteger waiting = new AtomicInteger();

  public WaitingCount(int capacity) {
    this.capacity = capacity;
  }

  /** Counts one more request. Returns false, and does not count it, if the bound is reached. */
  public boolean enter() {
    if (waiting.incrementAndGet() > capacity) {
      waiting.decrementAndGet();
      return false;
    }
    return true;
  }

  /** Counts one request fewer. */
  public void leave() {
    int left = waiting.decrementAndGet();
    assert left >= 0 : "more requests left than entered";
  }

  /** Returns the number of waiting requests, from 0 to the capacity. */
  public int get() {
    return Math.clamp(waiting.get(), 0, capacity);
  }

  public int capacity() {
    return capacity;
  }
}
