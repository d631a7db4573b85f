package lsmlab.storage.table;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import lsmlab.storage.Compression;
import lsmlab.storage.CorruptionException;
import lsmlab.storage.ValueSink;
import lsmlab.storage.cursor.Cursor;
import lsmlab.storage.file.Bytes;
import lsmlab.storage.file.SimulatedDirectory;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

class TableTest {

  private static final byte[] TOMBSTONE = new byte[0];

  private static Table write(
      SimulatedDirectory directory, Map<byte[], byte[]> pairs, int blockBytes) throws IOException {
    return write(directory, pairs, new TableLayout(blockBytes, 10));
  }

  private static Table write(
      SimulatedDirectory directory, Map<byte[], byte[]> pairs, TableLayout layout)
      throws IOException {
    try (TableWriter writer = new TableWriter(directory, 7, 3, layout)) {
      for (Map.Entry<byte[], byte[]> pair : pairs.entrySet()) {
        MemorySegment key = MemorySegment.ofArray(pair.getKey());
        if (pair.getValue() == TOMBSTONE) {
          writer.addTombstone(key, 0, pair.getKey().length);
        } else {
          MemorySegment value = MemorySegment.ofArray(pair.getValue());
          writer.add(key, 0, pair.getKey().length, value, 0, pair.getValue().length);
        }
      }
      writer.finish();
    }
    return Table.open(directory, 7);
  }

  /**
   * Returns the value of a key; {@link #TOMBSTONE} for a deletion, null if the table does not hold
   * the key.
   */
  private static byte[] get(Table table, byte[] key) {
    byte[][] found = new byte[1][];
    int answer =
        table.get(
            Bytes.hash(key, 0, key.length),
            key,
            0,
            key.length,
            (source, offset, length) -> found[0] = ValueSink.copy(source, offset, length));
    return answer == Lookup.DELETED ? TOMBSTONE : answer == Lookup.FOUND ? found[0] : null;
  }

  /**
   * Returns keys that an index of prefixes may get wrong: with long common prefixes, of different
   * lengths, and with zero bytes.
   */
  private static byte[] awkwardKey(SplittableRandom random) {
    byte[] key = new byte[1 + random.nextInt(random.nextBoolean() ? 3 : 14)];
    for (int i = 0; i < key.length; i++) {
      key[i] = (byte) (random.nextInt(8) == 0 ? random.nextInt(256) : random.nextInt(2));
    }
    return key;
  }

  @Property(tries = 200)
  void findsOnlyWrittenPairs(
      @ForAll long seed,
      @ForAll @IntRange(min = 64, max = 600) int blockBytes,
      @ForAll Compression compression)
      throws IOException {
    SplittableRandom random = new SplittableRandom(seed);
    TreeMap<byte[], byte[]> pairs = new TreeMap<>(Arrays::compareUnsigned);
    for (int i = random.nextInt(1, 300); i > 0; i--) {
      byte[] value = new byte[1 + random.nextInt(60)];
      if (random.nextInt(3) == 0) {
        random.nextBytes(value);
      }
      pairs.put(awkwardKey(random), random.nextInt(10) == 0 ? TOMBSTONE : value);
    }
    TableLayout layout = new TableLayout(blockBytes, 10, compression);
    Table table = write(new SimulatedDirectory(), pairs, layout);
    table.verify();
    assertEquals(pairs.size(), table.entries());
    for (int i = 0; i < 300; i++) {
      byte[] key = awkwardKey(random);
      assertTrue(Arrays.equals(pairs.get(key), get(table, key)), Arrays.toString(key));

      Cursor cursor = table.cursor();
      boolean more = cursor.seek(key);
      for (Map.Entry<byte[], byte[]> pair : pairs.tailMap(key).entrySet()) {
        assertTrue(more);
        assertEquals(
            0,
            Bytes.compare(
                pair.getKey(),
                0,
                pair.getKey().length,
                cursor.keySegment(),
                cursor.keyOffset(),
                cursor.keyLength()));
        assertEquals(pair.getValue() == TOMBSTONE, cursor.isTombstone());
        assertEquals(pair.getValue().length, cursor.valueLength());
        more = cursor.next();
      }
      assertFalse(more);
    }
    table.release();
  }

  @Test
  void theFilterPassesAboutOneAbsentKeyInAHundred() throws IOException {
    TreeMap<byte[], byte[]> pairs = new TreeMap<>(Arrays::compareUnsigned);
    for (int i = 0; i < 20_000; i++) {
      pairs.put("key%08d".formatted(2 * i).getBytes(UTF_8), new byte[] {1});
    }
    Table table = write(new SimulatedDirectory(), pairs, 4096);
    int passed = 0;
    for (int i = 0; i < 20_000; i++) {
      byte[] key = "key%08d".formatted(2 * i + 1).getBytes(UTF_8);
      int answer = table.get(Bytes.hash(key, 0, key.length), key, 0, key.length, (s, o, l) -> {});
      passed += answer == Lookup.ABSENT ? 1 : 0;
    }
    assertTrue(passed > 50 && passed < 400, passed + " of 20000 passed");
    table.release();
  }

  private static TreeMap<byte[], byte[]> pairsOf(int count, int valueBytes) {
    TreeMap<byte[], byte[]> pairs = new TreeMap<>(Arrays::compareUnsigned);
    SplittableRandom random = new SplittableRandom(valueBytes);
    for (int i = 0; i < count; i++) {
      byte[] value = new byte[valueBytes - valueBytes / 10 + random.nextInt(valueBytes / 5)];
      random.nextBytes(value);
      pairs.put("key%08d".formatted(i).getBytes(UTF_8), value);
    }
    return pairs;
  }

  @Test
  void lookupsFindTheSameWhenMissesAreExpected() throws IOException {
    TreeMap<byte[], byte[]> pairs = pairsOf(1000, 100);
    Table table = write(new SimulatedDirectory(), pairs, 4096);
    table.expectMisses();
    int filtered = 0;
    for (int i = 0; i < 2000; i++) {
      byte[] key = "key%08d".formatted(i).getBytes(UTF_8);
      assertArrayEquals(pairs.get(key), get(table, key));
      int answer = table.get(Bytes.hash(key, 0, key.length), key, 0, key.length, (s, o, l) -> {});
      filtered += answer == Lookup.FILTERED ? 1 : 0;
    }
    assertTrue(filtered > 950 && filtered <= 1000, filtered + " of 1000 filtered");
    table.release();
  }

  @Test
  void keysMustAscend() throws IOException {
    SimulatedDirectory directory = new SimulatedDirectory();
    try (TableWriter writer = new TableWriter(directory, 7, 0, new TableLayout(4096, 10))) {
      MemorySegment key = MemorySegment.ofArray("b".getBytes(UTF_8));
      writer.add(key, 0, 1, key, 0, 1);
      assertThrows(IllegalStateException.class, () -> writer.add(key, 0, 1, key, 0, 1));
    }
    assertEquals(0, directory.list().size(), "an unfinished table is removed");
  }

  @Test
  void aTableUnderTheNameOfAnotherIsRefused() throws IOException {
    SimulatedDirectory directory = new SimulatedDirectory();
    TreeMap<byte[], byte[]> pairs = new TreeMap<>(Arrays::compareUnsigned);
    pairs.put(new byte[] {1}, new byte[] {2});
    write(directory, pairs, 100).release();
    directory.rename(TableFormat.fileName(7), TableFormat.fileName(8));
    CorruptionException e = assertThrows(CorruptionException.class, () -> Table.open(directory, 8));
    assertTrue(
        e.getMessage().contains("the file contains table 7, contrary to its name"), e.getMessage());
  }

  @Test
  void theLastReferenceOfAnObsoleteTableDeletesItsFile() throws IOException {
    SimulatedDirectory directory = new SimulatedDirectory();
    TreeMap<byte[], byte[]> pairs = new TreeMap<>(Arrays::compareUnsigned);
    pairs.put(new byte[] {1}, new byte[] {2});
    Table table = write(directory, pairs, 100);
    table.retain();
    table.markObsolete();
    table.release();
    assertEquals(1, directory.list().size());
    table.release();
    assertEquals(0, directory.list().size());
  }

  @Test
  void fileNamesAreReadBack() {
    assertEquals("000042.sst", TableFormat.fileName(42));
    assertEquals(42, TableFormat.number("000042.sst"));
    assertEquals(-1, TableFormat.number("000042.wal"));
  }
}
