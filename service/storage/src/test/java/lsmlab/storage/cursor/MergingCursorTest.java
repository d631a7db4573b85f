package lsmlab.storage.cursor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import lsmlab.storage.ValueSink;
import lsmlab.storage.memtable.ChunkPool;
import lsmlab.storage.memtable.Memtable;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;

class MergingCursorTest {

  /** Merging the sources equals putting all of them into one map, oldest first. */
  @Property(tries = 200)
  void earlierSourcesShadowLaterOnes(@ForAll long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    List<Map<Integer, Integer>> newestFirst = new ArrayList<>();
    for (int i = random.nextInt(1, 9); i > 0; i--) {
      Map<Integer, Integer> source = new TreeMap<>();
      for (int j = random.nextInt(30); j > 0; j--) {
        source.put(random.nextInt(40), random.nextInt(100));
      }
      newestFirst.add(source);
    }
    TreeMap<Integer, Integer> expected = new TreeMap<>();
    newestFirst.reversed().forEach(expected::putAll);

    try (ChunkPool pool = new ChunkPool()) {
      List<Cursor> cursors = new ArrayList<>();
      for (Map<Integer, Integer> source : newestFirst) {
        Memtable memtable = new Memtable(pool, 1);
        long sequence = 0;
        for (Map.Entry<Integer, Integer> pair : source.entrySet()) {
          byte[] key = {pair.getKey().byteValue()};
          byte[] value = {pair.getValue().byteValue()};
          memtable.add(++sequence, key, 0, 1, value, 0, 1);
        }
        cursors.add(memtable.cursor(Long.MAX_VALUE));
      }
      MergingCursor cursor = new MergingCursor(cursors);
      int from = random.nextInt(-1, 40);
      TreeMap<Integer, Integer> found = new TreeMap<>();
      boolean more = cursor.seek(from < 0 ? null : new byte[] {(byte) from});
      for (; more; more = cursor.next()) {
        int key = ValueSink.copy(cursor.keySegment(), cursor.keyOffset(), 1)[0];
        int value = ValueSink.copy(cursor.valueSegment(), cursor.valueOffset(), 1)[0];
        assertEquals(null, found.put(key, value), "a key came twice");
        assertEquals(key, found.lastKey(), "keys must ascend");
      }
      assertEquals(expected.tailMap(Math.max(0, from)), found);
    }
  }

  /**
   * Returns keys for which eight bytes do not decide: keys with long common prefixes, keys that
   * differ only in length, and keys with zeros.
   */
  @Property(tries = 300)
  void knowingTheSharedPrefixChangesNothing(@ForAll long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    byte[] beginning = new byte[random.nextInt(12)];
    random.nextBytes(beginning);
    try (ChunkPool pool = new ChunkPool()) {
      List<Memtable> newestFirst = new ArrayList<>();
      for (int i = random.nextInt(1, 9); i > 0; i--) {
        newestFirst.add(new Memtable(pool, 1));
      }
      TreeMap<byte[], Integer> expected = new TreeMap<>(Arrays::compareUnsigned);
      for (int source = newestFirst.size() - 1; source >= 0; source--) {
        for (int j = random.nextInt(1, 30); j > 0; j--) {
          byte[] key = Arrays.copyOf(beginning, beginning.length + random.nextInt(11));
          for (int k = beginning.length; k < key.length; k++) {
            key[k] = (byte) (random.nextInt(12) == 0 ? 0xff : random.nextInt(2));
          }
          int value = random.nextInt(100);
          newestFirst.get(source).add(30 - j, key, 0, key.length, new byte[] {(byte) value}, 0, 1);
          expected.put(key, value);
        }
      }
      List<Cursor> cursors = new ArrayList<>();
      newestFirst.forEach(memtable -> cursors.add(memtable.cursor(Long.MAX_VALUE)));
      MergingCursor cursor = new MergingCursor(cursors, random.nextInt(beginning.length + 1));
      TreeMap<byte[], Integer> found = new TreeMap<>(Arrays::compareUnsigned);
      for (boolean more = cursor.seek(null); more; more = cursor.next()) {
        byte[] key = ValueSink.copy(cursor.keySegment(), cursor.keyOffset(), cursor.keyLength());
        int value = ValueSink.copy(cursor.valueSegment(), cursor.valueOffset(), 1)[0];
        assertEquals(null, found.put(key, value), "a key came twice");
        assertSame(key, found.lastKey(), "keys must ascend");
      }
      assertEquals(expected, found);
    }
  }
}
