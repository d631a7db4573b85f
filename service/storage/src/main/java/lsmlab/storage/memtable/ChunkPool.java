package lsmlab.storage.memtable;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;

/**
 * Native memory for memtables, in chunks that are used again: a fresh chunk costs a page fault every 4 KiB and an arena
 * that is closed costs every thread a handshake, a used one neither. It holds as much as was ever in use at once, which
 * the limit on waiting memtables bounds. Thread-safe.
 */
public final class ChunkPool implements AutoCloseable {

  /** Bytes of a chunk. */
  static final int CHUNK_BYTES = 1 << 20;

  private final Arena arena = Arena.ofShared();
  private final ArrayDeque<MemorySegment> unused = new ArrayDeque<>();

  /** A chunk, its content undefined. */
  synchronized MemorySegment take() {
    MemorySegment chunk = unused.pollFirst();
    return chunk != null ? chunk : arena.allocate(CHUNK_BYTES, Long.BYTES);
  }

  /** Gives a chunk back that nobody reads any more. */
  synchronized void give(MemorySegment chunk) {
    unused.addFirst(chunk);
  }

  /** Frees all chunks, given back or not. */
  @Override
  public void close() {
    arena.close();
  }
}
