package lsmlab.storage.table;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import lsmlab.storage.cursor.Cursor;

/** Walks the tables of a level, which do not overlap, as if they were one table. */
public final class LevelCursor implements Cursor {

  private final Table[] tables;
  private int at;
  private Cursor current;

  /**
   * @param tables tables of one level in key order, at least one
   */
  public LevelCursor(Table[] tables) {
    assert tables.length > 0 : "a level without tables has no cursor";
    this.tables = tables;
  }

  /**
   * Returns the index of the first table whose greatest key is not less than this key; the number
   * of tables if there is none.
   */
  public static int firstEndingFrom(Table[] level, byte[] key, int keyOffset, int keyLength) {
    int low = 0;
    int high = level.length;
    while (low < high) {
      int middle = (low + high) >>> 1;
      byte[] max = level[middle].maxKey();
      if (Arrays.compareUnsigned(max, 0, max.length, key, keyOffset, keyOffset + keyLength) < 0) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  @Override
  public boolean seek(byte[] key) {
    at = key == null ? 0 : firstEndingFrom(tables, key, 0, key.length);
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

  @Override
  public void pause(int bytesMax) {
    if (current != null) {
      current.pause(bytesMax);
    }
  }

  @Override
  public void resume() {
    current.resume();
  }
}
