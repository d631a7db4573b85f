package lsmlab.storage.memtable;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import lsmlab.storage.ValueSink;
import lsmlab.storage.cursor.Cursor;
import lsmlab.storage.table.Lookup;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

class MemtableTest {

  private static String get(Memtable memtable, String key) {
    byte[] bytes = key.getBytes(UTF_8);
    byte[][] found = new byte[1][];
    int answer =
        memtable.get(bytes, 0, bytes.length, (s, o, l) -> found[0] = ValueSink.copy(s, o, l));
    return switch (answer) {
      case Lookup.FOUND -> new String(found[0], UTF_8);
      case Lookup.DELETED -> "deleted";
      default -> null;
    };
  }

  private static void add(Memtable memtable, long sequence, String key, String value) {
    byte[] keyBytes = key.getBytes(UTF_8);
    byte[] valueBytes = value == null ? null : value.getBytes(UTF_8);
    memtable.add(
        sequence, keyBytes, 0, keyBytes.length, valueBytes, 0, value == null ? 0 : value.length());
  }

  private static TreeMap<String, String> contents(Memtable memtable, long sequenceMax) {
    TreeMap<String, String> found = new TreeMap<>();
    Cursor cursor = memtable.cursor(sequenceMax);
    for (boolean more = cursor.seek(null); more; more = cursor.next()) {
      String key =
          new String(
              ValueSink.copy(cursor.keySegment(), cursor.keyOffset(), cursor.keyLength()), UTF_8);
      String value =
          new String(
              ValueSink.copy(cursor.valueSegment(), cursor.valueOffset(), cursor.valueLength()),
              UTF_8);
      assertNull(found.put(key, cursor.isTombstone() ? "deleted" : value), "a key came twice");
      assertEquals(found.lastKey(), key, "keys must ascend");
    }
    return found;
  }

  @Property(tries = 100)
  void everyPrefixOfTheWritesCanBeSeen(@ForAll long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    try (ChunkPool pool = new ChunkPool()) {
      Memtable memtable = new Memtable(pool, 1);
      int writes = 200;
      int middle = random.nextInt(writes);
      TreeMap<String, String> model = new TreeMap<>();
      TreeMap<String, String> modelThen = new TreeMap<>();
      for (int i = 1; i <= writes; i++) {
        String key = "key" + "x".repeat(random.nextInt(12)) + random.nextInt(10);
        String value = random.nextInt(5) == 0 ? null : "v".repeat(random.nextInt(300)) + i;
        add(memtable, i, key, value);
        model.put(key, value == null ? "deleted" : value);
        if (i == middle) {
          modelThen.putAll(model);
        }
      }
      model.forEach((key, value) -> assertEquals(value, get(memtable, key)));
      assertNull(get(memtable, "absent"));
      assertEquals(model, contents(memtable, Long.MAX_VALUE));
      assertEquals(modelThen, contents(memtable, middle));
      assertEquals(writes, memtable.entries());
      memtable.release();
    }
  }

  @Test
  void chunksAreReusedAfterTheLastReference() {
    try (ChunkPool pool = new ChunkPool()) {
      Memtable first = new Memtable(pool, 1);
      add(first, 1, "key", "x".repeat(500_000));
      add(first, 2, "small", "y");
      first.retain();
      first.release();
      assertEquals("y", get(first, "small"));
      first.release();
      Memtable second = new Memtable(pool, 2);
      assertNull(get(second, "small"));
      add(second, 1, "other", "z");
      assertEquals(1, contents(second, 1).size());
      second.release();
    }
  }

  @Test
  void readersSeeWholeNodesWhileAWriterWrites() throws InterruptedException {
    try (ChunkPool pool = new ChunkPool()) {
      Memtable memtable = new Memtable(pool, 1);
      AtomicLong published = new AtomicLong();
      AtomicReference<Throwable> failure = new AtomicReference<>();
      int writes = 60_000;
      Thread reader =
          Thread.ofPlatform()
              .start(
                  () -> {
                    try {
                      SplittableRandom random = new SplittableRandom(1);
                      while (published.get() < writes) {
                        long upTo = published.get();
                        if (upTo > 0) {
                          long wanted = 1 + random.nextLong(upTo);
                          assertEquals("value" + wanted, get(memtable, key(wanted)));
                        }
                        if (random.nextInt(1_000) == 0) {
                          long seen = published.get();
                          assertEquals(seen, contents(memtable, seen).size());
                        }
                      }
                    } catch (Throwable e) {
                      failure.set(e);
                    }
                  });
      for (long i = 1; i <= writes; i++) {
        add(memtable, i, key(i), "value" + i);
        published.set(i);
      }
      reader.join();
      assertNull(failure.get());
      memtable.release();
    }
  }

  private static String key(long i) {
    return Long.toString(i * 0x9E3779B97F4A7C15L, 36);
  }

  @Test
  void nodesAreOrderedByUnsignedBytes() {
    try (ChunkPool pool = new ChunkPool()) {
      Memtable memtable = new Memtable(pool, 1);
      byte[][] keys = {
        {(byte) 0x80}, {0x7f}, {0}, {0, 0}, {(byte) 0xff, 1}, {1, 0, 0, 0, 0, 0, 0, 0, 0}
      };
      for (int i = 0; i < keys.length; i++) {
        memtable.add(i + 1, keys[i], 0, keys[i].length, keys[i], 0, keys[i].length);
      }
      Arrays.sort(keys, Arrays::compareUnsigned);
      Cursor cursor = memtable.cursor(Long.MAX_VALUE);
      assertTrue(cursor.seek(null));
      for (int i = 0; i < keys.length; i++) {
        assertEquals(
            0,
            Arrays.compareUnsigned(
                keys[i],
                ValueSink.copy(cursor.keySegment(), cursor.keyOffset(), cursor.keyLength())));
        assertEquals(i + 1 < keys.length, cursor.next());
      }
      memtable.release();
    }
  }
}
