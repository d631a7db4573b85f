package lsmlab.peers;

import java.nio.ByteBuffer;
import lsmlab.storage.Engine;
import lsmlab.storage.concurrent.Pool;

/**
 * A direct buffer for a key and one for a value, lent until {@link #close}. Direct memory is costly to make and is freed by
 * the garbage collector alone, so that not even a virtual thread, which lives for one request, has buffers of its own.
 */
final class DirectBuffers implements AutoCloseable {

  private static final Pool<DirectBuffers> POOL = new Pool<>(DirectBuffers::new);

  private ByteBuffer key = ByteBuffer.allocateDirect(256);
  private ByteBuffer value = ByteBuffer.allocateDirect(4096);

  private DirectBuffers() {}

  /** Buffers that nobody else has until they are closed. */
  static DirectBuffers take() {
    return POOL.take();
  }

  /** The key as a buffer. */
  ByteBuffer key(byte[] source, int offset, int length) {
    return keyWithRoom(length).clear().put(source, offset, length).flip();
  }

  /** The value as a buffer. */
  ByteBuffer value(byte[] source, int offset, int length) {
    return valueWithRoom(length).clear().put(source, offset, length).flip();
  }

  /** The buffer for a key. */
  ByteBuffer key() {
    return key;
  }

  /** The buffer for a value. */
  ByteBuffer value() {
    return value;
  }

  /** The buffer for a key, with room for this length at least. */
  ByteBuffer keyWithRoom(int length) {
    if (length > key.capacity()) {
      key = ByteBuffer.allocateDirect(Engine.KEY_BYTES_MAX);
    }
    return key;
  }

  /** The buffer for a value, with room for this length at least. */
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
