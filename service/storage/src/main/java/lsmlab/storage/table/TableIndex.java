package lsmlab.storage.table;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import lsmlab.storage.file.Bytes;

/**
 * Which block a key is in: a search over eight bytes of each block's first key, those after what all keys of the table
 * share, which stand in one array of the heap. Only keys that agree in these too are compared in the file, or in a copy of
 * them. Thread-safe.
 *
 * <p>A binary search would wait for a line of memory at each of its last steps, one after the other. So every eighth entry is
 * repeated in an array above, every eighth of these in a further one: a look-up counts in eight neighbours at a time, which
 * lie in one or two lines, and all but the lowest array stay in the CPU's caches. Source: Rao and Ross, "Cache Conscious
 * Indexing for Decision-Support in Main Memory" (1999), CSS-trees.
 */
final class TableIndex {

  /** Where the blocks' whole first keys are, and where their ends, beginning with a zero. */
  private record FirstKeys(MemorySegment bytes, long endsOffset, long keysOffset) {

    int compare(byte[] key, int keyOffset, int keyLength, int block) {
      int start = bytes.get(Bytes.INT, endsOffset + 4L * block);
      int end = bytes.get(Bytes.INT, endsOffset + 4L * (block + 1));
      return Bytes.compare(key, keyOffset, keyLength, bytes, keysOffset + start, end - start);
    }
  }

  /** In the mapping or in a copy; either may be met by a look-up. */
  private volatile FirstKeys firstKeys;

  /** The table's first key: its beginning is what all keys share. */
  private final byte[] firstKey;

  /** Length of what all keys begin with. */
  private final int shared;

  /** Entries of an array that one entry of the array above stands for. */
  private static final int FANOUT = 8;

  /** What arrays are filled up with, so that groups are whole. */
  private static final long GREATEST = -1L;

  /**
   * Of each block's first key, the eight bytes after the shared ones, as unsigned numbers; then every eighth of these, and so on
   * up to an array of one group.
   */
  private final long[][] levels;

  /** Place of each block in units of 8 bytes, unsigned, and the end of the last. */
  private final int[] blocks;

  /**
   * Reads an index whose checksum was found right.
   *
   * @param bytes the whole table
   * @param offset of the index in it
   */
  TableIndex(MemorySegment bytes, long offset, byte[] firstKey) {
    this.firstKey = firstKey;
    int count = bytes.get(Bytes.INT, offset);
    shared = bytes.get(Bytes.INT, offset + 4);
    long prefixesOffset = offset + 8;
    long blocksOffset = prefixesOffset + 8L * count;
    long endsOffset = blocksOffset + 4L * (count + 1);
    firstKeys = new FirstKeys(bytes, endsOffset, endsOffset + 4L * (count + 1));
    // In one piece: a store is opened by a cold JVM, to which each single access costs a
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

  /** Where the block begins in the file; for the number of blocks, where the last one ends. */
  long blockOffset(int block) {
    return (blocks[block] & 0xffff_ffffL) * TableFormat.BLOCK_ALIGNMENT;
  }

  /** Has the blocks' first keys read from a copy from now on, which the kernel does not take for other files' pages. */
  void copyFirstKeys(Arena arena) {
    FirstKeys mapped = firstKeys;
    long endsLength = mapped.keysOffset - mapped.endsOffset;
    int keysLength = mapped.bytes.get(Bytes.INT, mapped.keysOffset - Integer.BYTES);
    MemorySegment copy = arena.allocate(endsLength + keysLength, Integer.BYTES);
    copy.copyFrom(mapped.bytes.asSlice(mapped.endsOffset, endsLength + keysLength));
    firstKeys = new FirstKeys(copy, 0, endsLength);
  }

  /** The last block whose first key is not greater, or −1 if the key is before all of them. */
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

  /** The last entry that is not greater; the first is not, and this is less than what groups are filled up with. */
  private int lastNotGreater(long wanted) {
    int last = 0;
    for (int i = levels.length - 1; i >= 0; i--) {
      last = lastNotGreater(levels[i], last * FANOUT, wanted);
    }
    return last;
  }

  /** The last of a group that is not greater; its first is not. Without a branch, which nobody could predict. */
  private static int lastNotGreater(long[] level, int first, long wanted) {
    int last = first;
    for (int i = 1; i < FANOUT; i++) {
      last += Long.compareUnsigned(level[first + i], wanted) <= 0 ? 1 : 0;
    }
    return last;
  }

  /** Blocks whose first keys share the prefix, up to {@code last}: their whole keys decide. */
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
