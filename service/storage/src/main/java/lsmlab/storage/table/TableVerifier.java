package lsmlab.storage.table;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import lsmlab.storage.ValueSink;

/** Reads a whole table and compares it with what its index, filter and properties say. */
final class TableVerifier {

  private final Table table;
  private final MemorySegment bytes;

  TableVerifier(Table table, MemorySegment bytes) {
    this.table = table;
    this.bytes = bytes;
  }

  void run() {
    long entries = 0;
    long tombstones = 0;
    byte[] last = null;
    for (int block = 0; block < table.blockCount(); block++) {
      long start = table.checkBlock(block);
      int pairs = Block.pairs(bytes, start);
      for (int pair = 0; pair < pairs; pair++) {
        int from = Block.keySlot(bytes, start, pair);
        byte[] key =
            ValueSink.copy(bytes, start + from, Block.keySlot(bytes, start, pair + 1) - from);
        check(key.length > 0, start, "a key is empty");
        if (last != null) {
          check(Arrays.compareUnsigned(last, key) < 0, start, "keys do not ascend");
        } else {
          check(Arrays.equals(key, table.minKey()), start, "the first key is not the smallest");
        }
        check(
            table.findBlock(key, 0, key.length) == block,
            start,
            "the index leads to another block than the one that holds the key");
        check(table.mayContain(key), start, "the filter denies a key that is there");
        if (Block.valueSlot(bytes, start, pair) < 0) {
          tombstones++;
        }
        entries++;
        last = key;
      }
    }
    check(Arrays.equals(last, table.maxKey()), 0, "the last key is not the greatest");
    check(entries == table.entries(), 0, "it holds another number of pairs than it says");
    check(tombstones == table.tombstones(), 0, "it holds another number of tombstones");
  }

  private void check(boolean holds, long offset, String what) {
    if (!holds) {
      throw table.corrupt(offset, what);
    }
  }
}
