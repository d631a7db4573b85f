package lsmlab.storage.engines;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.ConcurrentNavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import lsmlab.storage.Engine;
import lsmlab.storage.EngineStats;
import lsmlab.storage.Limits;
import lsmlab.storage.Scan;
import lsmlab.storage.ValueSink;

/**
 * Keeps pairs in a {@link ConcurrentSkipListMap}, to measure the service with very cheap storage.
 * No pair outlives the process. Thread-safe.
 *
 * <p>{@link #scan} copies the references of its range under a lock that excludes writers, so that
 * it returns the pairs of one moment. A large range blocks writers for a while, which is acceptable
 * for an engine that is only used for comparisons.
 */
public class MemoryEngine implements Engine {

  private final ConcurrentNavigableMap<byte[], byte[]> pairs =
      new ConcurrentSkipListMap<>(Arrays::compareUnsigned);
  private final ReadWriteLock scanLock = new ReentrantReadWriteLock();
  private final LongAdder bytes = new LongAdder();

  /** Returns the map itself, so that callers can read and change pairs directly. */
  public final ConcurrentNavigableMap<byte[], byte[]> pairs() {
    return pairs;
  }

  @Override
  public boolean get(byte[] key, int keyOffset, int keyLength, ValueSink sink) {
    Limits.checkKey(key, keyOffset, keyLength);
    byte[] value = pairs.get(slice(key, keyOffset, keyLength));
    if (value == null) {
      return false;
    }
    sink.accept(MemorySegment.ofArray(value), 0, value.length);
    return true;
  }

  @Override
  public void put(
      byte[] key, int keyOffset, int keyLength, byte[] value, int valueOffset, int valueLength) {
    Limits.checkKey(key, keyOffset, keyLength);
    Limits.checkValue(value, valueOffset, valueLength);
    byte[] ownKey = Arrays.copyOfRange(key, keyOffset, keyOffset + keyLength);
    byte[] ownValue = Arrays.copyOfRange(value, valueOffset, valueOffset + valueLength);
    scanLock.readLock().lock();
    try {
      byte[] old = pairs.put(ownKey, ownValue);
      bytes.add(old == null ? (long) keyLength + valueLength : (long) valueLength - old.length);
    } finally {
      scanLock.readLock().unlock();
    }
  }

  @Override
  public void delete(byte[] key, int keyOffset, int keyLength) {
    Limits.checkKey(key, keyOffset, keyLength);
    scanLock.readLock().lock();
    try {
      byte[] old = pairs.remove(slice(key, keyOffset, keyLength));
      if (old != null) {
        bytes.add(-(long) keyLength - old.length);
      }
    } finally {
      scanLock.readLock().unlock();
    }
  }

  @Override
  public Scan scan(byte[] from, byte[] to) {
    if (to != null && Arrays.compareUnsigned(from, to) >= 0) {
      return new ListScan(Map.<byte[], byte[]>of().entrySet().iterator());
    }
    scanLock.writeLock().lock();
    try {
      Map<byte[], byte[]> range = to == null ? pairs.tailMap(from) : pairs.subMap(from, to);
      return new ListScan(range.entrySet().stream().toList().iterator());
    } finally {
      scanLock.writeLock().unlock();
    }
  }

  @Override
  public void flush() {}

  @Override
  public void compact() {}

  @Override
  public void quiesce() {}

  @Override
  public EngineStats stats() {
    return new EngineStats(bytes.sum(), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  }

  @Override
  public void close() {
    pairs.clear();
  }

  private static byte[] slice(byte[] key, int offset, int length) {
    return offset == 0 && length == key.length
        ? key
        : Arrays.copyOfRange(key, offset, offset + length);
  }

  private static final class ListScan implements Scan {
    private final Iterator<Map.Entry<byte[], byte[]>> rest;
    private Map.Entry<byte[], byte[]> current;

    ListScan(Iterator<Map.Entry<byte[], byte[]>> rest) {
      this.rest = rest;
    }

    @Override
    public boolean next() {
      current = rest.hasNext() ? rest.next() : null;
      return current != null;
    }

    @Override
    public MemorySegment key() {
      return MemorySegment.ofArray(current.getKey()).asReadOnly();
    }

    @Override
    public MemorySegment value() {
      return MemorySegment.ofArray(current.getValue()).asReadOnly();
    }

    @Override
    public void close() {}
  }
}
