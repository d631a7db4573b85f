package lsmlab.server.variant.queue;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * The place where workers idle while their queue is empty, and where a submit wakes one of those that are parked.
 *
 * <p><b>Why no wake-up is lost.</b> A worker announces itself and then checks the queue once more; a producer adds to
 * the queue and then checks for an announcement. Both are sequentially consistent, so at least one sees the other
 * (Dekker's argument). While all workers are awake a producer pays one volatile read.
 *
 * <p><b>One at a time.</b> Until a woken worker runs, no other is woken. A second one would probably find that the
 * first has emptied the queue, and each wake-up costs a system call and two context switches: when every submit woke a
 * worker, {@code mpmc} served 40% fewer GETs on one CPU. The woken worker reports
 * that it runs and then checks the queue, so it sees what was added meanwhile; if it leaves some requests, it wakes the
 * next worker.
 */
public final class ParkingLot {

  private final IdleStrategy strategy;
  private final AtomicReferenceArray<Thread> parked;
  private final AtomicInteger count = new AtomicInteger();

  /** Whether a worker has been woken but is not running yet. */
  private final AtomicBoolean waking = new AtomicBoolean();

  /** Makes a lot with a place for each worker. */
  public ParkingLot(int workers, IdleStrategy strategy) {
    this.strategy = strategy;
    parked = new AtomicReferenceArray<>(workers);
  }

  /**
   * Waits while the worker is idle. The caller then checks its queue again.
   *
   * @param place the place of this worker, from 0
   * @param idle returns whether there is nothing to do
   */
  public void idle(int place, BooleanSupplier idle) {
    switch (strategy) {
      case PARK -> park(place, idle);
      case YIELD -> Thread.yield();
      case SPIN -> Thread.onSpinWait();
    }
  }

  /** Sleeps until woken. Checks {@code idle} once other threads can see that the worker is about to sleep. */
  private void park(int place, BooleanSupplier idle) {
    Thread self = Thread.currentThread();
    assert parked.get(place) == null : "two workers have the same place";
    parked.set(place, self);
    count.incrementAndGet();
    while (idle.getAsBoolean() && parked.get(place) == self) {
      LockSupport.park(this);
    }
    if (parked.compareAndSet(place, self, null)) {
      count.decrementAndGet();
    } else {
      waking.set(false); // before the caller looks at the queue again
    }
  }

  /** Wakes one worker if one is parked, unless a woken worker does not run yet. Call it after adding to the queue. */
  public void wakeOne() {
    while (count.get() > 0 && !waking.get() && waking.compareAndSet(false, true)) {
      for (int i = 0; i < parked.length(); i++) {
        Thread thread = parked.get(i);
        if (thread != null && parked.compareAndSet(i, thread, null)) {
          count.decrementAndGet();
          LockSupport.unpark(thread);
          return;
        }
      }
      // All woke by themselves. Check again: a worker that parked since may be left to this thread.
      waking.set(false);
    }
  }

  /** Wakes all parked workers. */
  public void wakeAll() {
    while (count.get() > 0) {
      wakeOne();
      Thread.yield();
    }
  }
}
