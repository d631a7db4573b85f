package lsmlab.storage.table;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import lsmlab.storage.file.Bytes;

/**
 * Finds the block that may hold a key. Searches a heap array that holds eight bytes of each block's
 * first key: those after the prefix that all keys of the table share. Compares whole keys, in the
 * file or in a copy, only if these eight bytes are equal. Thread-safe.
 *
 * <p>A binary search would miss the cache at each of its last steps. So every eighth entry is
 * repeated in a second array, every eighth entry of that in a third, and so on. In each array a
 * lookup compares eight neighbours, which are in one or two cache lines, and all arrays but the
 * first stay in the CPU's caches. Source: Rao and Ross, "Cache Conscious Indexing for
 * Decision-Support in Main Memory" (1999), CSS-trees.
 */
final class TableIndex {

  /**
   * The memory that holds the whole first keys of all blocks, and the offsets of their ends, the
   * first of which is 0.
   */
  private record FirstKeys(MemorySegment bytes, long endsOffset, long keysOffset) {

    int compare(byte[] key, int keyOffset, int keyLength, int block) {
      int start = bytes.get(Bytes.INT, endsOffset + 4L * block);
      int end = bytes.get(Bytes.INT, endsOffset + 4L * (block + 1));
      return Bytes.compare(key, keyOffset, keyLength, bytes, keysOffset + start, end - start);
    }
  }

  /** The first keys, in the mapped file or in a copy; a lookup may see either. */
  private volatile FirstKeys firstKeys;

  /** The first key of the table. All keys share its beginning. */
  private final byte[] firstKey;

  /** Length of the prefix that all keys share. */
  private final int shared;

  /** Number of entries that one entry of the next array represents. */
  private static final int FANOUT = 8;

  /** Pads each array to whole groups. */
  private static final long GREATEST = -1L;

  /**
   * The first array holds the eight bytes after the shared prefix of each block's first key, as
   * unsigned numbers. Each further array holds every eighth entry of the one before; the last one
   * is a single group.
   */
  private final long[][] levels;

  /** Offset of each block and of the end of the last one, unsigned, in units of 8 bytes. */
  private final int[] blocks;

  /**
   * Reads an index whose checksum has been checked.
   *
   * @param bytes the whole table
   * @param offset offset of the index in {@code bytes}
   */
  TableIndex(MemorySegment bytes, long offset, byte[] firstKey) {
    this.firstKey = firstKey;
    int count = bytes.get(Bytes.INT, offset);
    shared = bytes.get(Bytes.INT, offset + 4);
    long prefixesOffset = offset + 8;
    long blocksOffset = prefixesOffset + 8L * count;
    long endsOffset = blocksOffset + 4L * (count + 1);
    firstKeys = new FirstKeys(bytes, endsOffset, endsOffset + 4L * (count + 1));
    // Copied at once, because a single access costs a cold JVM, which opens the store, a
    // microsecond.
    long[] prefixes = filledUp(count);
    MemorySegment.copy(bytes, Bytes.LONG, prefixesOffset, prefixes, 0, count);
    levels = withLevelsAbove(prefixes, count);
    blocks = new int[count + 1];
    MemorySegment.copy(bytes, Bytes.INT, blocksOffset, blocks, 0, count + 1);
  }

  private static long[] filledUp(int count) {
    long[] level = new long[Math.ceilDiv(count, FANOUT) * FANOUT];
    Arrays.fill(level, count, level.length, GREATEST);
    return level;
  }

  private static long[][] withLevelsAbove(long[] prefixes, int count) {
    List<long[]> all = new ArrayList<>(List.of(prefixes));
    for (int size = count; size > FANOUT; ) {
      long[] below = all.getLast();
      size = Math.ceilDiv(size, FANOUT);
      long[] level = filledUp(size);
      for (int i = 0; i < size; i++) {
        level[i] = below[i * FANOUT];
      }
      all.add(level);
    }
    return all.toArray(long[][]::new);
  }

  int blockCount() {
    return blocks.length - 1;
  }

  /**
   * Returns the offset of a block in the file; for the number of blocks, the end of the last one.
   */
  long blockOffset(int block) {
    return (blocks[block] & 0xffff_ffffL) * TableFormat.BLOCK_ALIGNMENT;
  }

  /**
   * Copies the first keys of the blocks and reads the copy from now on, because the kernel does not
   * reclaim its pages.
   */
  void copyFirstKeys(Arena arena) {
    FirstKeys mapped = firstKeys;
    long endsLength = mapped.keysOffset - mapped.endsOffset;
    int keysLength = mapped.bytes.get(Bytes.INT, mapped.keysOffset - Integer.BYTES);
    MemorySegment copy = arena.allocate(endsLength + keysLength, Integer.BYTES);
    copy.copyFrom(mapped.bytes.asSlice(mapped.endsOffset, endsLength + keysLength));
    firstKeys = new FirstKeys(copy, 0, endsLength);
  }

  /**
   * Returns the last block whose first key is not greater than the key; −1 if the key is before all
   * blocks.
   */
  int findBlock(byte[] key, int keyOffset, int keyLength) {
    int head = Math.min(shared, keyLength);
    int order = Arrays.compareUnsigned(key, keyOffset, keyOffset + head, firstKey, 0, head);
    if (order != 0) {
      return order < 0 ? -1 : blockCount() - 1;
    }
    if (keyLength < shared) {
      return -1;
    }
    long[] prefixes = levels[0];
    long wanted = Bytes.prefix(key, keyOffset + shared, keyLength - shared);
    if (blockCount() == 0 || Long.compareUnsigned(prefixes[0], wanted) > 0) {
      return -1;
    }
    int last = wanted == GREATEST ? blockCount() - 1 : lastNotGreater(wanted);
    return prefixes[last] != wanted
        ? last
        : findAmongEqual(last, wanted, key, keyOffset, keyLength);
  }

  /**
   * Returns the last entry that is not greater than {@code wanted}. The first entry must not be
   * greater, and {@code wanted} must be less than {@link #GREATEST}.
   */
  private int lastNotGreater(long wanted) {
    int last = 0;
    for (int i = levels.length - 1; i >= 0; i--) {
      last = lastNotGreater(levels[i], last * FANOUT, wanted);
    }
    return last;
  }

  /**
   * Returns the last entry of a group that is not greater than {@code wanted}; the first entry must
   * not be greater. Uses no branch, because the CPU could not predict it.
   */
  private static int lastNotGreater(long[] level, int first, long wanted) {
    int last = first;
    for (int i = 1; i < FANOUT; i++) {
      last += Long.compareUnsigned(level[first + i], wanted) <= 0 ? 1 : 0;
    }
    return last;
  }

  /**
   * Finds the block by comparing whole keys, if the eight bytes of several blocks up to {@code
   * last} equal {@code wanted}.
   */
  private int findAmongEqual(int last, long wanted, byte[] key, int keyOffset, int keyLength) {
    long[] prefixes = levels[0];
    int low = 0;
    int size = last + 1;
    while (size > 0) {
      int half = size >>> 1;
      int middle = low + half;
      boolean notGreater =
          Long.compareUnsigned(prefixes[middle], wanted) < 0
              || (prefixes[middle] == wanted
                  && firstKeys.compare(key, keyOffset, keyLength, middle) >= 0);
      if (notGreater) {
        low = middle + 1;
        size -= half + 1;
      } else {
        size = half;
      }
    }
    return low - 1;
  }
}
