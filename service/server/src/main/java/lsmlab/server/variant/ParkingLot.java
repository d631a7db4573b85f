package lsmlab.server.variant;

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
 */
final class ParkingLot {

  private final AtomicReferenceArray<Thread> parked;
  private final AtomicInteger count = new AtomicInteger();

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
    }
  }

  /** Wakes one worker, if one sleeps. Call it after the queue has been added to. */
  void wakeOne() {
    if (count.get() == 0) {
      return;
    }
    for (int i = 0; i < parked.length(); i++) {
      Thread thread = parked.get(i);
      if (thread != null && parked.compareAndSet(i, thread, null)) {
        count.decrementAndGet();
        LockSupport.unpark(thread);
        return;
      }
    }
  }

  /** Wakes all that sleep. */
  void wakeAll() {
    while (count.get() > 0) {
      wakeOne();
      Thread.onSpinWait();
    }
  }
}
