package lsmlab.server.http;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.ConcurrentNavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicInteger;
import lsmlab.storage.Engine;
import lsmlab.storage.EngineStats;
import lsmlab.storage.Scan;
import lsmlab.storage.ValueSink;

/** Pairs in a map; counts open scans, and lets a test step in before each operation. */
public class MapEngine implements Engine {

  public final ConcurrentNavigableMap<byte[], byte[]> pairs =
      new ConcurrentSkipListMap<>(Arrays::compareUnsigned);
  public final AtomicInteger openScans = new AtomicInteger();

  /** Called before each operation with the key. */
  protected void before(byte[] key) {}

  @Override
  public boolean get(byte[] key, int keyOffset, int keyLength, ValueSink sink) {
    byte[] own = Arrays.copyOfRange(key, keyOffset, keyOffset + keyLength);
    before(own);
    byte[] value = pairs.get(own);
    if (value == null) {
      return false;
    }
    // not at the beginning of its memory: an offset that is forgotten shows
    byte[] shifted = new byte[value.length + 7];
    System.arraycopy(value, 0, shifted, 5, value.length);
    sink.accept(MemorySegment.ofArray(shifted), 5, value.length);
    return true;
  }

  @Override
  public void put(
      byte[] key, int keyOffset, int keyLength, byte[] value, int valueOffset, int valueLength) {
    byte[] own = Arrays.copyOfRange(key, keyOffset, keyOffset + keyLength);
    before(own);
    pairs.put(own, Arrays.copyOfRange(value, valueOffset, valueOffset + valueLength));
  }

  @Override
  public void delete(byte[] key, int keyOffset, int keyLength) {
    byte[] own = Arrays.copyOfRange(key, keyOffset, keyOffset + keyLength);
    before(own);
    pairs.remove(own);
  }

  @Override
  public Scan scan(byte[] from, byte[] to) {
    before(from);
    openScans.incrementAndGet();
    boolean empty = to != null && Arrays.compareUnsigned(from, to) >= 0;
    Map<byte[], byte[]> range =
        empty ? Map.of() : to == null ? pairs.tailMap(from) : pairs.subMap(from, to);
    return new MapScan(range.entrySet().iterator());
  }

  @Override
  public void flush() {}

  @Override
  public void compact() {}

  @Override
  public void quiesce() {}

  @Override
  public EngineStats stats() {
    return EngineStats.NONE;
  }

  @Override
  public void close() {}

  private final class MapScan implements Scan {
    private final Iterator<Map.Entry<byte[], byte[]>> rest;
    private Map.Entry<byte[], byte[]> current;
    private boolean closed;

    MapScan(Iterator<Map.Entry<byte[], byte[]>> rest) {
      this.rest = rest;
    }

    @Override
    public boolean next() {
      if (closed) {
        throw new IllegalStateException("the scan is closed");
      }
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
    public void close() {
      if (closed) {
        throw new IllegalStateException("the scan is closed twice");
      }
      closed = true;
      openScans.decrementAndGet();
    }
  }
}
