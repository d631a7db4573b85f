package lsmlab.storage.textbook;

import java.lang.foreign.MemorySegment;
import java.util.Iterator;
import java.util.concurrent.ConcurrentNavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A memtable: a skip list in the heap, and the number of bytes that its records would take in a
 * table. An overwritten record no longer counts. An iterator may show writes that are made after it
 * was opened, unless the memtable is sealed.
 */
final class SkipListMemtable implements Source {

  private final long number;
  private final ConcurrentNavigableMap<MemorySegment, Entry> entries =
      new ConcurrentSkipListMap<>(Entry::compareKeys);
  private final AtomicLong bytes = new AtomicLong();

  SkipListMemtable(long number) {
    this.number = number;
  }

  /** Returns the number of this memtable: 1 more than that of the one before it. */
  long number() {
    return number;
  }

  void put(Entry entry) {
    Entry replaced = entries.put(entry.key(), entry);
    bytes.addAndGet(entry.bytes() - (replaced == null ? 0 : replaced.bytes()));
  }

  long bytes() {
    return bytes.get();
  }

  boolean isEmpty() {
    return entries.isEmpty();
  }

  @Override
  public Entry get(MemorySegment key, long hash) {
    return entries.get(key);
  }

  @Override
  public Iterator<Entry> iterator(MemorySegment from, MemorySegment to) {
    return (to == null ? entries.tailMap(from) : entries.subMap(from, to)).values().iterator();
  }

  /** Returns all entries. */
  Iterable<Entry> all() {
    return entries.values();
  }
}
