package lsmlab.storage.memtable;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;

/**
 * Native memory for memtables, in {@link LargePages}, in chunks that are used again: a fresh one costs page faults and
 * an arena that is closed costs every thread a handshake, a used one neither. It holds as much as was ever in use at
 * once, which the limit on waiting memtables bounds. Thread-safe.
 */
public final class ChunkPool implements AutoCloseable {

  /** Bytes of a chunk. */
  static final int CHUNK_BYTES = 1 << 20;

  /** Bytes that are asked of the kernel at a time; it gives them when they are first written. */
  private static final long SLAB_BYTES = 32L * CHUNK_BYTES;

  private final Arena arena = Arena.ofShared();
  private final ArrayDeque<MemorySegment> unused = new ArrayDeque<>();

  /** What chunks are cut from, and how much of it is left. */
  private MemorySegment slab;

  private long left;

  /** A chunk, its content undefined. */
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

  /** Gives a chunk back that nobody reads any more. */
  synchronized void give(MemorySegment chunk) {
    assert chunk.byteSize() == CHUNK_BYTES : chunk.byteSize();
    unused.addFirst(chunk);
  }

  /** Frees all chunks, given back or not. */
  @Override
  public void close() {
    arena.close();
  }
}
