package lsmlab.storage.engines;

import java.lang.foreign.MemorySegment;
import lsmlab.storage.Engine;
import lsmlab.storage.EngineStats;
import lsmlab.storage.Limits;
import lsmlab.storage.Scan;
import lsmlab.storage.ValueSink;

/** Discards every write and finds no key: the lower bound for any measurement. Thread-safe. */
public class NullEngine implements Engine {

  private static final Scan EMPTY =
      new Scan() {
        @Override
        public boolean next() {
          return false;
        }

        @Override
        public MemorySegment key() {
          throw new IllegalStateException("the scan is not at a pair");
        }

        @Override
        public MemorySegment value() {
          throw new IllegalStateException("the scan is not at a pair");
        }

        @Override
        public void close() {}
      };

  @Override
  public boolean get(byte[] key, int keyOffset, int keyLength, ValueSink sink) {
    Limits.checkKey(key, keyOffset, keyLength);
    return false;
  }

  @Override
  public void put(
      byte[] key, int keyOffset, int keyLength, byte[] value, int valueOffset, int valueLength) {
    Limits.checkKey(key, keyOffset, keyLength);
    Limits.checkValue(value, valueOffset, valueLength);
  }

  @Override
  public void delete(byte[] key, int keyOffset, int keyLength) {
    Limits.checkKey(key, keyOffset, keyLength);
  }

  @Override
  public Scan scan(byte[] from, byte[] to) {
    return EMPTY;
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
}
