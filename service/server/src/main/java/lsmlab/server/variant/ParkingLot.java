package lsmlab.server.variant;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * Where the workers of a queue that does not block sleep while it is empty.
 *
 * <p><b>Why no wake-up is lost.</b> A worker announces itself and then looks at the queue once more; a producer adds to
 * the queue and then looks for an announcement. Both are sequentially consistent, so at least one sees the other
 * (Dekker's argument). While all workers are awake a producer pays one volatile read.
 *
 * <p><b>One at a time.</b> While a woken worker is on its way no other is woken: it would find the queue that the first
 * one empties, and each wake-up costs a system call and two changes of context. Whoever arrives first says so and then
 * looks at the queue, so what was added meanwhile is seen; if more is there than it takes, it wakes the next.
 */
final class ParkingLot {

  private final AtomicReferenceArray<Thread> parked;
  private final AtomicInteger count = new AtomicInteger();

  /** A worker has been woken and does not run yet. */
  private final AtomicBoolean waking = new AtomicBoolean();

  /** Makes one with a place for each of so many workers. */
  ParkingLot(int workers) {
    parked = new AtomicReferenceArray<>(workers);
  }

  /**
   * Sleeps until woken, or not at all where there is something to do.
   *
   * @param place this worker's own, from 0
   * @param idle whether there is nothing to do; looked at after the worker can be seen to sleep
   */
  void park(int place, BooleanSupplier idle) {
    Thread self = Thread.currentThread();
    parked.set(place, self);
    count.incrementAndGet();
    while (idle.getAsBoolean() && parked.get(place) == self) {
      LockSupport.park(this);
    }
    if (parked.compareAndSet(place, self, null)) {
      count.decrementAndGet();
    } else {
      waking.set(false); // woken by somebody; before the caller looks at the queue again
    }
  }

  /** Wakes one worker, if one sleeps and none is on its way. Call it after the queue has been added to. */
  void wakeOne() {
    while (count.get() > 0 && !waking.get() && waking.compareAndSet(false, true)) {
      for (int i = 0; i < parked.length(); i++) {
        Thread thread = parked.get(i);
        if (thread != null && parked.compareAndSet(i, thread, null)) {
          count.decrementAndGet();
          LockSupport.unpark(thread);
          return;
        }
      }
      // they woke by themselves; look again, for another producer may have left one that came since
      // to this thread
      waking.set(false);
    }
  }

  /** Wakes all that sleep. */
  void wakeAll() {
    while (count.get() > 0) {
      wakeOne();
      Thread.yield();
    }
  }
}
