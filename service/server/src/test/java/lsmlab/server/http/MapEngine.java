package lsmlab.server.http;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.concurrent.ConcurrentNavigableMap;
import java.util.concurrent.atomic.AtomicInteger;
import lsmlab.storage.Scan;
import lsmlab.storage.ValueSink;
import lsmlab.storage.engines.MemoryEngine;

/** The engine in memory; counts open scans, and lets a test run code before each operation. */
public class MapEngine extends MemoryEngine {

  public final ConcurrentNavigableMap<byte[], byte[]> pairs = pairs();
  public final AtomicInteger openScans = new AtomicInteger();

  /** Called before each operation with the key. */
  protected void before(byte[] key) {}

  private void before(byte[] key, int offset, int length) {
    before(Arrays.copyOfRange(key, offset, offset + length));
  }

  @Override
  public boolean get(byte[] key, int keyOffset, int keyLength, ValueSink sink) {
    before(key, keyOffset, keyLength);
    return super.get(
        key,
        keyOffset,
        keyLength,
        (source, offset, length) -> {
          // not at the beginning of its memory, so that a forgotten offset shows
          byte[] shifted = new byte[length + 7];
          System.arraycopy(ValueSink.copy(source, offset, length), 0, shifted, 5, length);
          sink.accept(MemorySegment.ofArray(shifted), 5, length);
        });
  }

  @Override
  public void put(
      byte[] key, int keyOffset, int keyLength, byte[] value, int valueOffset, int valueLength) {
    before(key, keyOffset, keyLength);
    super.put(key, keyOffset, keyLength, value, valueOffset, valueLength);
  }

  @Override
  public void delete(byte[] key, int keyOffset, int keyLength) {
    before(key, keyOffset, keyLength);
    super.delete(key, keyOffset, keyLength);
  }

  @Override
  public Scan scan(byte[] from, byte[] to) {
    before(from);
    openScans.incrementAndGet();
    return new CountedScan(super.scan(from, to));
  }

  private final class CountedScan implements Scan {
    private final Scan scan;
    private boolean closed;

    CountedScan(Scan scan) {
      this.scan = scan;
    }

    @Override
    public boolean next() {
      if (closed) {
        throw new IllegalStateException("the scan is closed");
      }
      return scan.next();
    }

    @Override
    public MemorySegment key() {
      return scan.key();
    }

    @Override
    public MemorySegment value() {
      return scan.value();
    }

    @Override
    public void close() {
      if (closed) {
        throw new IllegalStateException("the scan is closed twice");
      }
      closed = true;
      scan.close();
      openScans.decrementAndGet();
    }
  }
}
