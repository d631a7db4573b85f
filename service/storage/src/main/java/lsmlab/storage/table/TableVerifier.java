package lsmlab.storage.table;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import lsmlab.storage.ValueSink;

/** Reads a whole table and compares its pairs with its index, filter and properties. */
final class TableVerifier {

  private final Table table;

  TableVerifier(Table table) {
    this.table = table;
  }

  void run() {
    long entries = 0;
    long tombstones = 0;
    byte[] last = null;
    BlockView view = new BlockView();
    for (int block = 0; block < table.blockCount(); block++) {
      view.enter(table, block);
      MemorySegment bytes = view.bytes();
      long start = view.start();
      long offset = table.blockOffset(block);
      int pairs = Block.pairs(bytes, start);
      for (int pair = 0; pair < pairs; pair++) {
        int from = Block.keySlot(bytes, start, pair);
        byte[] key =
            ValueSink.copy(bytes, start + from, Block.keySlot(bytes, start, pair + 1) - from);
        check(key.length > 0, offset, "a key is empty");
        if (last != null) {
          check(Arrays.compareUnsigned(last, key) < 0, offset, "keys do not ascend");
        } else {
          check(Arrays.equals(key, table.minKey()), offset, "the first key is not the smallest");
        }
        check(
            table.findBlock(key, 0, key.length) == block,
            offset,
            "the index finds another block than the one that holds the key");
        check(table.mayContain(key), offset, "the filter excludes a key of the table");
        if (Block.valueSlot(bytes, start, pair) < 0) {
          tombstones++;
        }
        entries++;
        last = key;
      }
    }
    check(Arrays.equals(last, table.maxKey()), 0, "the last key is not the greatest");
    check(entries == table.entries(), 0, "the number of pairs differs from the table's properties");
    check(
        tombstones == table.tombstones(),
        0,
        "the number of tombstones differs from the table's properties");
  }

  private void check(boolean holds, long offset, String what) {
    if (!holds) {
      throw table.corrupt(offset, what);
    }
  }
}
