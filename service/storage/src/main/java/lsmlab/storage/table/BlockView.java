package lsmlab.storage.table;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.zip.CRC32C;
import lsmlab.storage.concurrent.Pool;
import lsmlab.storage.file.Bytes;
import net.jpountz.lz4.LZ4Exception;
import net.jpountz.lz4.LZ4Factory;
import net.jpountz.lz4.LZ4SafeDecompressor;

/**
 * Gives access to one block at a time, either in the mapped file or decompressed into a buffer.
 * Checks each block on entering it. A block is valid until the next one is entered. Not
 * thread-safe.
 *
 * <p>A compressed block is first copied to the heap and checked there, because a page that cannot
 * be read would end the JVM in native code. The decompressor stays within its buffers, even for
 * damaged input.
 */
final class BlockView {

  /**
   * Views for lookups, so that a lookup allocates no buffer. Keeps about two views for each CPU.
   */
  static final Pool<BlockView> POOL = new Pool<>(BlockView::new);

  /** Loads LZ4 when the first compressed block is read. */
  private static final class Lz4 {
    static final LZ4SafeDecompressor DECOMPRESSOR = LZ4Factory.fastestInstance().safeDecompressor();
  }

  /**
   * Size above which buffers are not kept, because a large value made them grow. The pool's buffers
   * together take at most a sixteenth of the heap, or 1 MiB each.
   */
  private static final int KEPT_BYTES_MAX =
      (int)
          Math.clamp(
              Runtime.getRuntime().maxMemory() / 64 / Runtime.getRuntime().availableProcessors(),
              1 << 20,
              2 * TableFormat.COMPRESSIBLE_BYTES_MAX);

  private static final byte[] NOTHING = new byte[0];

  private byte[] stored = NOTHING;
  private byte[] content = NOTHING;
  private MemorySegment contentSegment = MemorySegment.ofArray(content);
  private MemorySegment bytes = contentSegment;
  private long start;

  /** Returns the memory that holds the block. */
  MemorySegment bytes() {
    return bytes;
  }

  /** Returns the offset of the block in {@link #bytes}. */
  long start() {
    return start;
  }

  /**
   * Enters a block.
   *
   * @throws lsmlab.storage.CorruptionException if the block is damaged
   * @throws InternalError if the file cannot be read at the block's offset
   */
  void enter(Table table, int block) {
    if (table.isCompressed(block)) {
      decompress(table, block);
    } else {
      start = table.checkBlock(block);
      bytes = table.mapped();
    }
  }

  /** Drops the reference to the table and any buffer that is too large to keep. */
  void clear() {
    shrink(KEPT_BYTES_MAX);
    bytes = contentSegment;
  }

  /**
   * Drops buffers that are together larger than this.
   *
   * @return false if the block was dropped: the next call must be {@link #enter}
   */
  boolean shrink(int bytesMax) {
    if (stored.length + content.length > bytesMax) {
      stored = NOTHING;
    }
    if (content.length <= bytesMax) {
      return true;
    }
    boolean mapped = bytes != contentSegment;
    content = NOTHING;
    contentSegment = MemorySegment.ofArray(content);
    if (!mapped) {
      bytes = contentSegment;
    }
    return mapped;
  }

  private void decompress(Table table, int block) {
    final long offset = table.blockOffset(block);
    long storedLength = table.blockOffset(block + 1) - offset;
    if (storedLength < TableFormat.COMPRESSED_HEADER_BYTES
        || storedLength > TableFormat.COMPRESSIBLE_BYTES_MAX) {
      throw table.corrupt(offset, "the index gives block " + block + " an impossible offset");
    }
    int length = (int) storedLength;
    stored = withRoom(stored, length);
    MemorySegment.copy(table.mapped(), ValueLayout.JAVA_BYTE, offset, stored, 0, length);
    MemorySegment copy = MemorySegment.ofArray(stored);
    CRC32C crc = new CRC32C();
    crc.update(stored, Integer.BYTES, length - Integer.BYTES);
    if ((int) crc.getValue() != (copy.get(Bytes.INT, 0) ^ TableFormat.placeMask(offset))) {
      throw table.corrupt(offset, "the checksum of block " + block + " does not match");
    }
    int contentLength = copy.get(Bytes.INT, 4) & TableFormat.OFFSET_MASK;
    int compressedLength = copy.get(Bytes.INT, 8);
    if (contentLength < Block.BYTES_MIN
        || contentLength > TableFormat.COMPRESSIBLE_BYTES_MAX
        || compressedLength < 0
        || compressedLength > length - TableFormat.COMPRESSED_HEADER_BYTES) {
      throw table.corrupt(offset, "block " + block + " is inconsistent");
    }
    if (content.length < contentLength) {
      content = withRoom(content, contentLength);
      contentSegment = MemorySegment.ofArray(content);
    }
    decompress(table, block, compressedLength, contentLength);
    if (!Block.isSound(contentSegment, 0, contentLength)) {
      throw table.corrupt(offset, "block " + block + " is inconsistent");
    }
    bytes = contentSegment;
    start = 0;
  }

  private void decompress(Table table, int block, int compressedLength, int contentLength) {
    int wanted = contentLength - Integer.BYTES;
    int got;
    try {
      got =
          Lz4.DECOMPRESSOR.decompress(
              stored,
              TableFormat.COMPRESSED_HEADER_BYTES,
              compressedLength,
              content,
              Integer.BYTES,
              wanted);
    } catch (LZ4Exception e) {
      got = -1;
    }
    if (got != wanted) {
      throw table.corrupt(
          table.blockOffset(block), "block " + block + " cannot be decompressed (LZ4)");
    }
  }

  private static byte[] withRoom(byte[] array, int length) {
    return array.length >= length ? array : new byte[Math.max(length, 2 * array.length)];
  }
}
