package lsmlab.storage.table;

import java.lang.foreign.MemorySegment;
import lsmlab.storage.cursor.Cursor;

/** Walks a table. Checks each block on entering it. */
final class TableCursor implements Cursor {

  private static final int BLOCKS_AHEAD = 128;

  private final Table table;
  private final BlockView view = new BlockView();
  private int block;

  /** The first block that the kernel has not yet been asked to read. */
  private int readTo;

  private MemorySegment bytes;
  private long start;
  private int pairs;
  private int pair;
  private int key;
  private int keyEnd;
  private int value;
  private int valueEnd;

  TableCursor(Table table) {
    this.table = table;
  }

  @Override
  public boolean seek(byte[] wanted) {
    try {
      readTo = 0;
      enter(wanted == null ? 0 : Math.max(0, table.findBlock(wanted, 0, wanted.length)));
      pair = firstFrom(wanted) - 1;
    } catch (InternalError e) {
      throw table.unreadable(e);
    }
    return next();
  }

  /** Returns the first pair of the block whose key is not less than {@code wanted}. */
  private int firstFrom(byte[] wanted) {
    if (wanted == null) {
      return 0;
    }
    int found = Block.search(bytes, start, wanted, 0, wanted.length);
    return found >= 0 ? found : -1 - found;
  }

  @Override
  public boolean next() {
    try {
      if (++pair == pairs) {
        if (block + 1 == table.blockCount()) {
          return false;
        }
        enter(block + 1);
        pair = 0;
      }
      key = Block.keySlot(bytes, start, pair);
      keyEnd = Block.keySlot(bytes, start, pair + 1);
      value = Block.valueSlot(bytes, start, pair);
      valueEnd = Block.valueSlot(bytes, start, pair + 1) & TableFormat.OFFSET_MASK;
      return true;
    } catch (InternalError e) {
      throw table.unreadable(e);
    }
  }

  private void enter(int wanted) {
    if (table.missesExpected() && wanted >= readTo) {
      // Asks for many blocks only if the cursor moves on to the next one: most cursors read a pair
      // or two.
      int blocks = wanted == block + 1 ? BLOCKS_AHEAD : 1;
      table.readAhead(wanted, blocks);
      readTo = wanted + blocks;
    }
    block = wanted;
    show();
    pairs = Block.pairs(bytes, start);
  }

  private void show() {
    view.enter(table, block);
    bytes = view.bytes();
    start = view.start();
  }

  @Override
  public void pause(int bytesMax) {
    if (!view.shrink(bytesMax)) {
      bytes = null;
    }
  }

  @Override
  public void resume() {
    if (bytes == null) {
      try {
        show();
      } catch (InternalError e) {
        throw table.unreadable(e);
      }
    }
  }

  @Override
  public MemorySegment keySegment() {
    return bytes;
  }

  @Override
  public long keyOffset() {
    return start + key;
  }

  @Override
  public int keyLength() {
    return keyEnd - key;
  }

  @Override
  public boolean isTombstone() {
    return value < 0;
  }

  @Override
  public MemorySegment valueSegment() {
    return bytes;
  }

  @Override
  public long valueOffset() {
    return start + (value & TableFormat.OFFSET_MASK);
  }

  @Override
  public int valueLength() {
    return valueEnd - (value & TableFormat.OFFSET_MASK);
  }
}
