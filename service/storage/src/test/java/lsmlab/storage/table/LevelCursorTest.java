package lsmlab.storage.table;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Arrays;
import lsmlab.storage.ValueSink;
import lsmlab.storage.file.SimulatedDirectory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A level of many tables with two keys each: table i has the keys 4i and 4i+2. */
class LevelCursorTest {

  private static final int TABLES = 50;

  private final SimulatedDirectory directory = new SimulatedDirectory();
  private final Table[] level = new Table[TABLES];

  private static byte[] key(int i) {
    return "key%04d".formatted(i).getBytes(UTF_8);
  }

  @BeforeEach
  void write() throws IOException {
    for (int i = 0; i < TABLES; i++) {
      try (TableWriter writer = new TableWriter(directory, i, 0, new TableLayout(4096, 10))) {
        for (int key = 4 * i; key < 4 * i + 4; key += 2) {
          MemorySegment bytes = MemorySegment.ofArray(key(key));
          writer.add(bytes, 0, key(key).length, bytes, 0, key(key).length);
        }
        writer.finish();
      }
      level[i] = Table.open(directory, i);
    }
  }

  @AfterEach
  void release() throws IOException {
    for (Table table : level) {
      table.release();
    }
  }

  @Test
  void seekFindsTheFirstPairFromAnyKeyOn() {
    LevelCursor cursor = new LevelCursor(level);
    for (int wanted = 0; wanted <= 4 * TABLES - 2; wanted++) {
      assertTrue(cursor.seek(key(wanted)));
      for (int at = wanted + wanted % 2; at < 4 * TABLES; at += 2) {
        byte[] found = ValueSink.copy(cursor.keySegment(), cursor.keyOffset(), cursor.keyLength());
        assertEquals(new String(key(at), UTF_8), new String(found, UTF_8));
        assertEquals(at + 2 < 4 * TABLES, cursor.next());
      }
    }
    assertFalse(cursor.seek(key(4 * TABLES - 1)));
    assertTrue(cursor.seek(null));
  }

  @Test
  void theTableThatMayHoldAKeyIsFound() {
    for (int wanted = 0; wanted <= 4 * TABLES; wanted++) {
      byte[] key = key(wanted);
      int expected = 0;
      while (expected < TABLES && 4 * expected + 2 < wanted) {
        expected++;
      }
      assertEquals(expected, LevelCursor.firstEndingFrom(level, key, 0, key.length));
    }
  }

  /** Looking at each of the tables would take minutes. */
  @Test
  void theTableIsFoundByABinarySearch() {
    Table[] many = new Table[1 << 20];
    Arrays.fill(many, level[0]);
    byte[] after = key(4 * TABLES);
    assertTimeoutPreemptively(
        Duration.ofSeconds(20),
        () -> {
          for (int i = 0; i < 100_000; i++) {
            assertEquals(many.length, LevelCursor.firstEndingFrom(many, after, 0, after.length));
          }
        });
  }
}
