package lsmlab.storage.table;

import java.nio.ByteBuffer;
import net.jpountz.lz4.LZ4Compressor;
import net.jpountz.lz4.LZ4Factory;

/** Compresses blocks that are laid out; the drawing is in the package's documentation. Not thread-safe. */
final class BlockCompressor {

  private static final LZ4Compressor LZ4 = LZ4Factory.fastestInstance().fastCompressor();

  private ByteBuffer compressed = ByteBuffer.allocateDirect(0);

  /**
   * Puts the compressed form in the place of a block if it is at least an eighth smaller. A block over {@link
   * TableFormat#COMPRESSIBLE_BYTES_MAX}, of one huge value, stays as it is.
   *
   * @param out little-endian; the block is between {@code start} and its position, which moves to the new end
   * @return whether the block is compressed now
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
