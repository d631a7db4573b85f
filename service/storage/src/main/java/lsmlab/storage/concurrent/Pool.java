package lsmlab.storage.concurrent;

import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Supplier;

/**
 * Lends objects that are costly to make to one thread at a time. Unlike a {@link ThreadLocal} it does not need an object for
 * each thread, so that many virtual threads can share a few. If more are lent than it keeps, it makes them and leaves
 * them to the garbage collector. Thread-safe; allocates nothing while it has one to lend.
 */
public final class Pool<T> {

  /** References that a cache line holds, so that two CPUs do not share one. */
  private static final int STRIDE = 16;

  private final Supplier<T> make;
  private final int mask;
  private final AtomicReferenceArray<T> kept;

  /**
   * @param make makes another one; by any thread
   */
  public Pool(Supplier<T> make) {
    int places = Integer.highestOneBit(2 * Runtime.getRuntime().availableProcessors() - 1) << 1;
    this.make = make;
    this.mask = places - 1;
    this.kept = new AtomicReferenceArray<>(places * STRIDE);
  }

  /** One that nobody else has until it is given back. */
  public T take() {
    int first = firstPlace();
    for (int i = 0; i <= mask; i++) {
      int place = ((first + i) & mask) * STRIDE;
      if (kept.getPlain(place) != null) {
        T found = kept.getAndSet(place, null);
        if (found != null) {
          return found;
        }
      }
    }
    return make.get();
  }

  /** Gives one back that will not be used any more by its thread. */
  public void give(T item) {
    int first = firstPlace();
    for (int i = 0; i <= mask; i++) {
      int place = ((first + i) & mask) * STRIDE;
      if (kept.getPlain(place) == null && kept.compareAndSet(place, null, item)) {
        return;
      }
    }
  }

  /** The same place for a thread each time, so that it mostly finds what its CPU has in its cache. */
  private int firstPlace() {
    return (int) Thread.currentThread().threadId() & mask;
  }
}
