package lsmlab.storage.textbook;

import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.PriorityQueue;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Merges iterators. If several hold the same key, it returns the entry of the first of them in the
 * list and skips the others. Not thread-safe.
 */
final class MergingIterator implements Iterator<Entry> {

  /** An iterator that still has entries, and the next of them. */
  private record Head(Entry entry, int age, Iterator<Entry> rest) {}

  private static final Comparator<Head> BY_KEY_THEN_AGE =
      Comparator.comparing((Head head) -> head.entry.key(), Entry::compareKeys)
          .thenComparingInt(Head::age);

  private final PriorityQueue<Head> heads = new PriorityQueue<>(BY_KEY_THEN_AGE);

  MergingIterator(List<Iterator<Entry>> newestFirst) {
    int age = 0;
    for (Iterator<Entry> each : newestFirst) {
      advance(age++, each);
    }
  }

  private void advance(int age, Iterator<Entry> iterator) {
    if (iterator.hasNext()) {
      heads.add(new Head(iterator.next(), age, iterator));
    }
  }

  @Override
  public boolean hasNext() {
    return !heads.isEmpty();
  }

  @Override
  public Entry next() {
    if (heads.isEmpty()) {
      throw new NoSuchElementException();
    }
    Entry newest = heads.peek().entry;
    while (!heads.isEmpty() && Entry.compareKeys(heads.peek().entry.key(), newest.key()) == 0) {
      Head shown = heads.poll();
      advance(shown.age, shown.rest);
    }
    return newest;
  }

  /** Takes a lock for each step of an iterator. */
  record Locked(ReentrantLock lock, Iterator<Entry> iterator) implements Iterator<Entry> {

    @Override
    public boolean hasNext() {
      lock.lock();
      try {
        return iterator.hasNext();
      } finally {
        lock.unlock();
      }
    }

    @Override
    public Entry next() {
      lock.lock();
      try {
        return iterator.next();
      } finally {
        lock.unlock();
      }
    }
  }
}
