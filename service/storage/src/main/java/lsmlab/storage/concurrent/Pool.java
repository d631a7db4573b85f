package lsmlab.storage.concurrent;

import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Supplier;

/**
 * Lends objects that are expensive to create, each to one thread at a time. Unlike a {@link
 * ThreadLocal} it needs no object for each thread, so many virtual threads can share a few. If all
 * objects are lent, it creates another one, which the garbage collector may free later. It
 * allocates nothing as long as it has an object to lend. Thread-safe.
 */
public final class Pool<T> {

  /**
   * Distance between two entries, in references: one cache line, so that two entries never share a
   * cache line.
   */
  private static final int STRIDE = 16;

  private final Supplier<T> make;
  private final int mask;
  private final AtomicReferenceArray<T> kept;

  /**
   * @param make creates an object; called by any thread
   */
  public Pool(Supplier<T> make) {
    int places = Integer.highestOneBit(2 * Runtime.getRuntime().availableProcessors() - 1) << 1;
    this.make = make;
    this.mask = places - 1;
    this.kept = new AtomicReferenceArray<>(places * STRIDE);
  }

  /** Returns an object that nobody else uses until it is given back. */
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

  /** Takes back an object, which the caller must no longer use. */
  public void give(T item) {
    int first = firstPlace();
    for (int i = 0; i <= mask; i++) {
      int place = ((first + i) & mask) * STRIDE;
      if (kept.getPlain(place) == null && kept.compareAndSet(place, null, item)) {
        return;
      }
    }
  }

  /**
   * Returns the entry at which a thread starts to look. It is the same each time, so a thread
   * usually finds an object that is in its CPU's cache.
   */
  private int firstPlace() {
    return (int) Thread.currentThread().threadId() & mask;
  }
}
