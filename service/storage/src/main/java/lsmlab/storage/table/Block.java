package lsmlab.storage.table;

import java.lang.foreign.MemorySegment;
import lsmlab.storage.file.Bytes;

/**
 * Reads a block in place; the package documentation draws its format. All methods are static and
 * take the memory and the block's offset in it, so that a lookup allocates nothing.
 */
final class Block {

  /** Length of the shortest possible block. */
  static final long BYTES_MIN = TableFormat.BLOCK_HEADER_BYTES + 2L * TableFormat.SLOT_BYTES;

  private Block() {}

  /**
   * Whether the stored block is compressed. No other method of this class may read a compressed
   * block.
   */
  static boolean isCompressed(MemorySegment bytes, long start) {
    return bytes.get(Bytes.INT, start + 4) < 0;
  }

  static int pairs(MemorySegment bytes, long start) {
    return bytes.get(Bytes.INT, start + 4);
  }

  static int keySlot(MemorySegment bytes, long start, int pair) {
    return bytes.get(Bytes.INT, start + TableFormat.BLOCK_HEADER_BYTES + 8L * pair);
  }

  static int valueSlot(MemorySegment bytes, long start, int pair) {
    return bytes.get(Bytes.INT, start + TableFormat.BLOCK_HEADER_BYTES + 4 + 8L * pair);
  }

  /**
   * Returns the index of the pair with this key, or −1 − (index of the first pair with a greater
   * key).
   */
  static int search(MemorySegment bytes, long start, byte[] key, int keyOffset, int keyLength) {
    int low = 0;
    int high = pairs(bytes, start) - 1;
    while (low <= high) {
      int middle = (low + high) >>> 1;
      int from = keySlot(bytes, start, middle);
      int to = keySlot(bytes, start, middle + 1);
      int order = Bytes.compare(key, keyOffset, keyLength, bytes, start + from, to - from);
      if (order == 0) {
        return middle;
      }
      if (order > 0) {
        low = middle + 1;
      } else {
        high = middle - 1;
      }
    }
    return -1 - low;
  }

  /** Returns the checksum stored in a block, without the mask of the block's offset. */
  static int checksum(MemorySegment table, long start) {
    return table.get(Bytes.INT, start) ^ TableFormat.placeMask(start);
  }

  /**
   * Whether the offsets in a block ascend and stay within it, so that reading the block never
   * leaves it.
   *
   * @param length length of the block, at least {@link #BYTES_MIN}
   */
  static boolean isSound(MemorySegment bytes, long start, long length) {
    int count = pairs(bytes, start);
    long key = TableFormat.BLOCK_HEADER_BYTES + (count + 1L) * TableFormat.SLOT_BYTES;
    boolean sound = count > 0 && key <= length && keySlot(bytes, start, 0) == key;
    int value = sound ? keySlot(bytes, start, count) : 0;
    for (int i = 0; sound && i <= count; i++) {
      int nextKey = keySlot(bytes, start, i);
      int nextValue = valueSlot(bytes, start, i) & TableFormat.OFFSET_MASK;
      sound = nextKey >= key && nextValue >= value && nextValue <= length;
      key = nextKey;
      value = nextValue;
    }
    return sound && key <= (valueSlot(bytes, start, 0) & TableFormat.OFFSET_MASK);
  }
}
