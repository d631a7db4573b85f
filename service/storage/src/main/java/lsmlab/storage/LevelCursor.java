package lsmlab.storage;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import lsmlab.storage.cursor.Cursor;
import lsmlab.storage.table.Table;

/** Walks tables that do not overlap, in their order, as if they were one. */
final class LevelCursor implements Cursor {

  private final Table[] tables;
  private int at;
  private Cursor current;

  /**
   * @param tables by key, at least one
   */
  LevelCursor(Table[] tables) {
    this.tables = tables;
  }

  @Override
  public boolean seek(byte[] key) {
    at = 0;
    while (key != null
        && at < tables.length
        && Arrays.compareUnsigned(tables[at].maxKey(), key) < 0) {
      at++;
    }
    if (at == tables.length) {
      return false;
    }
    current = tables[at].cursor();
    return current.seek(key);
  }

  @Override
  public boolean next() {
    if (current.next()) {
      return true;
    }
    if (++at >= tables.length) {
      return false;
    }
    current = tables[at].cursor();
    return current.seek(null);
  }

  @Override
  public MemorySegment keySegment() {
    return current.keySegment();
  }

  @Override
  public long keyOffset() {
    return current.keyOffset();
  }

  @Override
  public int keyLength() {
    return current.keyLength();
  }

  @Override
  public boolean isTombstone() {
    return current.isTombstone();
  }

  @Override
  public MemorySegment valueSegment() {
    return current.valueSegment();
  }

  @Override
  public long valueOffset() {
    return current.valueOffset();
  }

  @Override
  public int valueLength() {
    return current.valueLength();
  }
}
