package lsmlab.storage.table;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Memory in which tables are laid out, reused by one {@link TableWriter} after another. Without it
 * each table would leave a few megabytes of garbage, and the kernel would have to zero fresh native
 * memory. Its arrays stay as large as the largest table needed, unless a huge value made them grow.
 * Used by one writer at a time; not thread-safe.
 */
public final class TableWorkspace {

  /**
   * Initial size of the buffer. It grows up to the size of a piece, so a small table needs little
   * memory.
   */
  static final int OUT_BYTES_MIN = 1 << 16;

  /** Size above which a buffer is not kept, because a very large value or index made it grow. */
  private static final int OUT_BYTES_KEPT_MAX = 16 << 20;

  final BlockBuilder block = new BlockBuilder();
  final IndexBuilder index = new IndexBuilder();
  private BlockCompressor compressor;
  long[] hashes = new long[1024];
  byte[] lastKey = new byte[64];
  ByteBuffer out = direct(OUT_BYTES_MIN);

  static ByteBuffer direct(int bytes) {
    return ByteBuffer.allocateDirect(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  /** Returns the compressor. The first call creates it. */
  BlockCompressor compressor() {
    if (compressor == null) {
      compressor = new BlockCompressor();
    }
    return compressor;
  }

  /** Makes the workspace ready for another table, even if the last one was not finished. */
  void reset() {
    block.clear();
    index.clear();
    out = out.capacity() > OUT_BYTES_KEPT_MAX ? direct(OUT_BYTES_MIN) : out.clear();
  }
}
