package lsmlab.storage.table;

import java.nio.ByteBuffer;
import java.util.Arrays;
import lsmlab.storage.file.Bytes;

/** Collects the first key and the offset of each block, and lays out the index of a table. */
final class IndexBuilder {

  private int count;
  private int[] blocks = new int[256];
  private int[] keyEnds = new int[256];
  private byte[] keys = new byte[4096];

  /** Removes all blocks. */
  void clear() {
    count = 0;
  }

  void add(long blockOffset, byte[] key, int keyLength) {
    assert blockOffset % TableFormat.BLOCK_ALIGNMENT == 0 : blockOffset;
    assert count == 0 || blockOffset > offset(count - 1) : "blocks follow one another";
    if (count == blocks.length) {
      blocks = Arrays.copyOf(blocks, 2 * count);
      keyEnds = Arrays.copyOf(keyEnds, 2 * count);
    }
    int start = keysLength();
    int end = Math.addExact(start, keyLength);
    if (end > keys.length) {
      keys = Arrays.copyOf(keys, (int) Math.min(Math.max(end, 2L * keys.length), 1 << 30));
    }
    System.arraycopy(key, 0, keys, start, keyLength);
    blocks[count] = (int) (blockOffset / TableFormat.BLOCK_ALIGNMENT);
    keyEnds[count++] = end;
  }

  private long offset(int block) {
    return Integer.toUnsignedLong(blocks[block]) * TableFormat.BLOCK_ALIGNMENT;
  }

  private int keysLength() {
    return count == 0 ? 0 : keyEnds[count - 1];
  }

  /** Returns the size in bytes of the index of a table whose blocks end at {@code dataEnd}. */
  int bytes(long dataEnd) {
    long length = 8 + 8L * count + 4L * (count + 1) + 4L * (count + 1) + keysLength();
    // The filter that follows starts at a multiple of a cache line in the file.
    return Math.toIntExact(TableWriter.align(dataEnd + length, TableFormat.LINE_BYTES) - dataEnd);
  }

  /** Lays out the index. {@code out} is little-endian and has room for {@link #bytes}. */
  void write(ByteBuffer out, long dataEnd, byte[] minKey, byte[] maxKey) {
    final int end = out.position() + bytes(dataEnd);
    int mismatch = Arrays.mismatch(minKey, maxKey);
    int shared = mismatch < 0 ? minKey.length : mismatch;
    out.putInt(count).putInt(shared);
    for (int i = 0; i < count; i++) {
      int start = i == 0 ? 0 : keyEnds[i - 1];
      out.putLong(Bytes.prefix(keys, start + shared, keyEnds[i] - start - shared));
    }
    for (int i = 0; i < count; i++) {
      out.putInt(blocks[i]);
    }
    out.putInt((int) (dataEnd / TableFormat.BLOCK_ALIGNMENT));
    out.putInt(0);
    for (int i = 0; i < count; i++) {
      out.putInt(keyEnds[i]);
    }
    out.put(keys, 0, keysLength());
    while (out.position() < end) {
      out.put((byte) 0);
    }
  }
}
