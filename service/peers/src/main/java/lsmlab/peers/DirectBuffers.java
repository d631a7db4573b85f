package lsmlab.peers;

import java.nio.ByteBuffer;
import lsmlab.storage.Engine;
import lsmlab.storage.concurrent.Pool;

/**
 * A direct buffer for a key and one for a value, lent until {@link #close}. Direct memory is
 * expensive to allocate, and only the garbage collector frees it. So threads share pooled buffers;
 * a virtual thread, which lives for one request, would waste its own.
 */
final class DirectBuffers implements AutoCloseable {

  private static final Pool<DirectBuffers> POOL = new Pool<>(DirectBuffers::new);

  private ByteBuffer key = ByteBuffer.allocateDirect(256);
  private ByteBuffer value = ByteBuffer.allocateDirect(4096);

  private DirectBuffers() {}

  /** Returns buffers that nobody else uses until they are closed. */
  static DirectBuffers take() {
    return POOL.take();
  }

  /** Returns a buffer that holds the key. */
  ByteBuffer key(byte[] source, int offset, int length) {
    return keyWithRoom(length).clear().put(source, offset, length).flip();
  }

  /** Returns a buffer that holds the value. */
  ByteBuffer value(byte[] source, int offset, int length) {
    return valueWithRoom(length).clear().put(source, offset, length).flip();
  }

  /** Returns the buffer for a key. */
  ByteBuffer key() {
    return key;
  }

  /** Returns the buffer for a value. */
  ByteBuffer value() {
    return value;
  }

  /** Returns the buffer for a key, with room for at least this length. */
  ByteBuffer keyWithRoom(int length) {
    if (length > key.capacity()) {
      key = ByteBuffer.allocateDirect(Engine.KEY_BYTES_MAX);
    }
    return key;
  }

  /** Returns the buffer for a value, with room for at least this length. */
  ByteBuffer valueWithRoom(int length) {
    if (length > value.capacity()) {
      value = ByteBuffer.allocateDirect(Math.max(length, 2 * value.capacity()));
    }
    return value;
  }

  @Override
  public void close() {
    if (value.capacity() <= Slices.KEPT_BYTES_MAX) {
      POOL.give(this);
    }
  }
}
