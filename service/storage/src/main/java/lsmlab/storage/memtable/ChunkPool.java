package lsmlab.storage.memtable;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;

/**
 * Lends chunks of native memory, in {@link LargePages}, to memtables and reuses them. Fresh memory
 * costs page faults, and closing an arena costs a handshake of all threads; a reused chunk costs
 * neither. The pool never shrinks: it keeps as much memory as was ever in use at once, which the
 * limit on waiting memtables bounds. Thread-safe.
 */
public final class ChunkPool implements AutoCloseable {

  /** Size of a chunk in bytes. */
  static final int CHUNK_BYTES = 1 << 20;

  /**
   * Number of bytes that are requested from the kernel at a time. The kernel provides a page when
   * it is first written.
   */
  private static final long SLAB_BYTES = 32L * CHUNK_BYTES;

  private final Arena arena = Arena.ofShared();
  private final ArrayDeque<MemorySegment> unused = new ArrayDeque<>();

  /** Memory from which new chunks are cut. Its last {@code left} bytes are unused. */
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

  /** Takes back a chunk that nobody reads any longer. */
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
