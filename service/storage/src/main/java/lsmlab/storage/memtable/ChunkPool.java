package lsmlab.storage.memtable;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;

/**
 * Lends chunks of native memory, in {@link LargePages}, to memtables and reuses them. Fresh memory
 * costs page faults, and closing an arena costs a handshake of all threads; a reused chunk costs
 * neither. The pool keeps the most memory that was ever in use, which the limit on waiting
 * memtables bounds. Thread-safe.
 */
public final class ChunkPool implements AutoCloseable {

  /** Bytes in a chunk. */
  static final int CHUNK_BYTES = 1 << 20;

  /**
   * Bytes that are requested from the kernel at a time. It provides them when they are first
   * written.
   */
  private static final long SLAB_BYTES = 32L * CHUNK_BYTES;

  private final Arena arena = Arena.ofShared();
  private final ArrayDeque<MemorySegment> unused = new ArrayDeque<>();

  /** Memory that new chunks are cut from; its last {@code left} bytes are unused. */
  private MemorySegment slab;

  private long left;

  /** Returns a chunk with undefined content. */
  synchronized MemorySegment take() {
    MemorySegment chunk = unused.pollFirst();
    if (chunk != null) {
      return chunk;
    }
    if (left == 0) {
      slab = LargePages.allocate(SLAB_BYTES, arena);
      left = SLAB_BYTES;
    }
    left -= CHUNK_BYTES;
    assert left >= 0 && left % CHUNK_BYTES == 0 : left;
    return slab.asSlice(SLAB_BYTES - CHUNK_BYTES - left, CHUNK_BYTES);
  }

  /** Takes back a chunk that nobody reads any more. */
  synchronized void give(MemorySegment chunk) {
    assert chunk.byteSize() == CHUNK_BYTES : chunk.byteSize();
    unused.addFirst(chunk);
  }

  /** Frees all chunks, including those that are still lent. */
  @Override
  public void close() {
    arena.close();
  }
}
