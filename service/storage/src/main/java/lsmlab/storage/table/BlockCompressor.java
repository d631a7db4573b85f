package lsmlab.storage.table;

import java.nio.ByteBuffer;
import net.jpountz.lz4.LZ4Compressor;
import net.jpountz.lz4.LZ4Factory;

/** Compresses blocks; the package documentation draws their format. Not thread-safe. */
final class BlockCompressor {

  private static final LZ4Compressor LZ4 = LZ4Factory.fastestInstance().fastCompressor();

  private ByteBuffer compressed = ByteBuffer.allocateDirect(0);

  /**
   * Replaces a block with its compressed form if that is at least an eighth smaller. A block larger
   * than {@link TableFormat#COMPRESSIBLE_BYTES_MAX}, which holds a single huge value, stays
   * uncompressed.
   *
   * @param out little-endian buffer that holds the block between {@code start} and its position;
   *     the position moves to the new end
   * @return whether the block was compressed
   */
  boolean compress(ByteBuffer out, int start) {
    int length = out.position() - start;
    if (length > TableFormat.COMPRESSIBLE_BYTES_MAX) {
      return false;
    }
    int content = length - Integer.BYTES;
    int room = LZ4.maxCompressedLength(content);
    if (compressed.capacity() < room) {
      compressed = ByteBuffer.allocateDirect(room);
    }
    int shrunk = LZ4.compress(out, start + Integer.BYTES, content, compressed, 0, room);
    if (TableFormat.COMPRESSED_HEADER_BYTES + shrunk > length - length / 8) {
      return false;
    }
    out.position(start + Integer.BYTES);
    out.putInt(length | TableFormat.COMPRESSED_BIT).putInt(shrunk);
    out.put(compressed.clear().limit(shrunk));
    return true;
  }
}
