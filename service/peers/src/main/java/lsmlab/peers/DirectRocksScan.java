package lsmlab.peers;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import org.rocksdb.RocksDB;

/** A {@link RocksScan} that passes keys and values through JNI in direct buffers. */
final class DirectRocksScan extends RocksScan {

  private DirectBuffers buffers;
  private ByteBuffer key;
  private ByteBuffer value;
  private boolean closed;

  DirectRocksScan(RocksDB db, byte[] from, byte[] to) {
    super(db, from, to);
  }

  @Override
  public boolean next() {
    key = null;
    value = null;
    resume();
    return super.next();
  }

  @Override
  public void resume() {
    if (buffers == null) {
      buffers = DirectBuffers.take();
    }
  }

  @Override
  public void pause() {
    key = null;
    value = null;
    if (buffers != null) {
      buffers.close();
      buffers = null;
    }
  }

  @Override
  public MemorySegment key() {
    if (key == null) {
      key = buffers.key().clear();
      int length = atPair().key(key);
      if (length > key.capacity()) {
        key = buffers.keyWithRoom(length).clear();
        atPair().key(key);
      }
    }
    return MemorySegment.ofBuffer(key).asReadOnly();
  }

  @Override
  public MemorySegment value() {
    if (value == null) {
      value = buffers.value().clear();
      int length = atPair().value(value);
      if (length > value.capacity()) {
        value = buffers.valueWithRoom(length).clear();
        atPair().value(value);
      }
    }
    return MemorySegment.ofBuffer(value).asReadOnly();
  }

  @Override
  public void close() {
    if (!closed) {
      closed = true;
      super.close();
      pause();
    }
  }
}
