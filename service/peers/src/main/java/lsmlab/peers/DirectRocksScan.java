package lsmlab.peers;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import org.rocksdb.RocksDB;

/** A {@link RocksScan} whose keys and values cross JNI in direct buffers. */
final class DirectRocksScan extends RocksScan {

  private ByteBuffer key = ByteBuffer.allocateDirect(256);
  private ByteBuffer value = ByteBuffer.allocateDirect(4096);
  private boolean hasKey;
  private boolean hasValue;

  DirectRocksScan(RocksDB db, byte[] from, byte[] to) {
    super(db, from, to);
  }

  @Override
  public boolean next() {
    hasKey = false;
    hasValue = false;
    return super.next();
  }

  @Override
  public MemorySegment key() {
    if (!hasKey) {
      int length = atPair().key(key.clear());
      if (length > key.capacity()) {
        key = ByteBuffer.allocateDirect(length);
        atPair().key(key);
      }
      hasKey = true;
    }
    return MemorySegment.ofBuffer(key).asReadOnly();
  }

  @Override
  public MemorySegment value() {
    if (!hasValue) {
      int length = atPair().value(value.clear());
      if (length > value.capacity()) {
        value = ByteBuffer.allocateDirect(length);
        atPair().value(value);
      }
      hasValue = true;
    }
    return MemorySegment.ofBuffer(value).asReadOnly();
  }
}
