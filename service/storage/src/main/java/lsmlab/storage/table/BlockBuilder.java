package lsmlab.storage.table;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.util.Arrays;
import lsmlab.storage.file.Bytes;

/**
 * Collects the pairs of a block and lays it out as the package documentation shows. Reused for the
 * next block.
 */
final class BlockBuilder {

  private static final int VALUES_BYTES = 8192;

  /**
   * Size above which the array is not kept for the next block, because a very large value made it
   * grow.
   */
  private static final int VALUES_KEPT_MAX = 4 << 20;

  private int count;
  private int[] keyEnds = new int[64];
  private int[] valueEnds = new int[64];
  private boolean[] tombstone = new boolean[64];
  private byte[] keys = new byte[4096];
  private byte[] values = new byte[VALUES_BYTES];

  /** Returns the number of bytes of values that fit without growing the array. */
  int valueCapacity() {
    return values.length;
  }

  /** Returns the number of pairs in the block so far. */
  int count() {
    return count;
  }

  /** Removes all pairs. */
  void clear() {
    count = 0;
    if (values.length > VALUES_KEPT_MAX) {
      values = new byte[VALUES_BYTES];
    }
    assert values.length <= VALUES_KEPT_MAX : values.length;
  }

  /**
   * Returns the size in bytes that the block would have with this much added; 0 for a block without
   * pairs.
   */
  long bytesWith(int morePairs, int moreKeyBytes, int moreValueBytes) {
    int pairs = count + morePairs;
    return pairs == 0
        ? 0
        : TableFormat.BLOCK_HEADER_BYTES
            + (pairs + 1L) * TableFormat.SLOT_BYTES
            + keyStart()
            + moreKeyBytes
            + valueStart()
            + moreValueBytes;
  }

  private int keyStart() {
    return count == 0 ? 0 : keyEnds[count - 1];
  }

  private int valueStart() {
    return count == 0 ? 0 : valueEnds[count - 1];
  }

  /** Copies a pair or a tombstone into the block. A tombstone has no value. */
  void add(
      MemorySegment key,
      long keyOffset,
      int keyLength,
      MemorySegment value,
      long valueOffset,
      int valueLength,
      boolean isTombstone) {
    if (count == keyEnds.length) {
      keyEnds = Arrays.copyOf(keyEnds, 2 * count);
      valueEnds = Arrays.copyOf(valueEnds, 2 * count);
      tombstone = Arrays.copyOf(tombstone, 2 * count);
    }
    int keyStart = keyStart();
    int valueStart = valueStart();
    keys = room(keys, keyStart, keyLength);
    values = room(values, valueStart, valueLength);
    MemorySegment.copy(key, ValueLayout.JAVA_BYTE, keyOffset, keys, keyStart, keyLength);
    MemorySegment.copy(value, ValueLayout.JAVA_BYTE, valueOffset, values, valueStart, valueLength);
    keyEnds[count] = keyStart + keyLength;
    valueEnds[count] = valueStart + valueLength;
    tombstone[count] = isTombstone;
    count++;
  }

  /** Returns the array that holds all keys, one after another. Valid until the next change. */
  byte[] keys() {
    return keys;
  }

  /** Returns the start of the last key in {@link #keys}. */
  int lastKeyStart() {
    return count == 1 ? 0 : keyEnds[count - 2];
  }

  /** Returns the length of the first key. */
  int firstKeyLength() {
    return keyEnds[0];
  }

  /** Returns the size in bytes of the whole block, with padding, before compression. */
  int bytes() {
    return Math.toIntExact(TableWriter.align(bytesWith(0, 0, 0), TableFormat.BLOCK_ALIGNMENT));
  }

  /**
   * Lays out the block and begins the next one.
   *
   * @param out little-endian, with room for {@link #bytes}
   * @param position offset of the block in the file
   * @param compressor null for no compression
   * @return whether the block is compressed
   */
  boolean finish(ByteBuffer out, long position, BlockCompressor compressor) {
    assert count > 0 : "a block has at least one pair";
    assert position % TableFormat.BLOCK_ALIGNMENT == 0 : position;
    final int start = out.position();
    layOut(out);
    boolean compressed = compressor != null && compressor.compress(out, start);
    int end = (int) TableWriter.align(out.position() - start, TableFormat.BLOCK_ALIGNMENT) + start;
    while (out.position() < end) {
      out.put((byte) 0);
    }
    int crc = Bytes.crc32c(out.duplicate().position(start + Integer.BYTES).limit(end));
    out.putInt(start, crc ^ TableFormat.placeMask(position));
    clear();
    return compressed;
  }

  private void layOut(ByteBuffer out) {
    int keysStart = TableFormat.BLOCK_HEADER_BYTES + (count + 1) * TableFormat.SLOT_BYTES;
    int valuesStart = keysStart + keyStart();
    out.putInt(0).putInt(count);
    for (int i = 0; i <= count; i++) {
      int flag = i < count && tombstone[i] ? TableFormat.TOMBSTONE_BIT : 0;
      out.putInt(keysStart + (i == 0 ? 0 : keyEnds[i - 1]));
      out.putInt((valuesStart + (i == 0 ? 0 : valueEnds[i - 1])) | flag);
    }
    out.put(keys, 0, keyStart()).put(values, 0, valueStart());
  }

  private static byte[] room(byte[] array, int used, int more) {
    int needed = Math.addExact(used, more);
    return needed <= array.length
        ? array
        : Arrays.copyOf(array, (int) Math.max(needed, Math.min(2L * array.length, 1 << 30)));
  }
}
