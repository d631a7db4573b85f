package lsmlab.storage.table;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Memory that tables are laid out in, kept from one {@link TableWriter} to the next: a writer that begins with nothing
 * leaves a few megabytes of garbage a table, of which the young collection in the middle of it copies what lives, and has
 * fresh native memory zeroed and faulted in. Holds what the largest table needed. One writer at a time; not thread-safe.
 */
public final class TableWorkspace {

  /** What the buffer begins with; it grows up to a piece, so that a small table needs little. */
  static final int OUT_BYTES_MIN = 1 << 16;

  /** A larger buffer, which only a very large value or index needs, is not kept. */
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

  /** Made with the first table that is compressed. */
  BlockCompressor compressor() {
    if (compressor == null) {
      compressor = new BlockCompressor();
    }
    return compressor;
  }

  /** Makes it ready for another table, however the last one ended. */
  void reset() {
    block.clear();
    index.clear();
    out = out.capacity() > OUT_BYTES_KEPT_MAX ? direct(OUT_BYTES_MIN) : out.clear();
  }
}
