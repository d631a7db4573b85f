package lsmlab.storage.lsm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import lsmlab.storage.CompactionStrategy;
import lsmlab.storage.Engine;
import lsmlab.storage.EngineStats;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.TreeStats;
import lsmlab.storage.TreeStats.Level;
import lsmlab.storage.TreeStats.StallCause;
import lsmlab.storage.file.SimulatedDirectory;
import lsmlab.storage.manifest.TableEntry;
import org.junit.jupiter.api.Test;

class TreeStatsTest {

  private static final int PAIRS = 1_000;
  private static final int VALUE_BYTES = 100;
  private static final int PAIR_BYTES = 8 + VALUE_BYTES;
  private static final int BOTTOM = TableEntry.LEVEL_BOTTOM;

  private static Engine open(CompactionStrategy compaction, int bloomBitsPerKey) {
    LsmOptions options =
        LsmOptions.builder(Path.of("unused"))
            .compaction(compaction)
            .bloomBitsPerKey(bloomBitsPerKey)
            .level0TablesMax(2)
            .build();
    return LsmEngine.open(options, new SimulatedDirectory());
  }

  private static byte[] key(int i) {
    return "key%05d".formatted(i).getBytes(StandardCharsets.UTF_8);
  }

  /** Writes every second key from {@code first} on, and flushes them into one table. */
  private static void table(Engine engine, int first) {
    for (int i = 0; i < PAIRS; i++) {
      engine.put(key(first + 2 * i), new byte[VALUE_BYTES]);
    }
    engine.flush();
  }

  @Test
  void bytesAreCountedFromLevelToLevel() {
    try (Engine engine = open(CompactionStrategy.OFF, 10)) {
      table(engine, 0);
      table(engine, 0);
      engine.delete(key(0));
      EngineStats flushed = engine.stats();
      TreeStats tree = flushed.tree();
      assertEquals(2 * PAIRS * PAIR_BYTES + 8, tree.acceptedBytes());
      Level top = tree.levels().getFirst();
      assertEquals(
          new Level(0, 2, flushed.tableBytes(), 0, 0, flushed.flushBytes()),
          top,
          "nothing is ever due without compaction");
      assertEquals(flushed.flushBytes(), flushed.tableBytes());
      assertEquals(0, tree.spaceAmplification(), "there is no sorted run yet");
      double written = flushed.walBytes() + flushed.flushBytes();
      assertEquals(written / tree.acceptedBytes(), tree.writeAmplification(), 1e-9);
      assertTrue(tree.writeAmplification() > 2 && tree.writeAmplification() < 3);

      engine.flush();
      long level0 = engine.stats().tableBytes();
      engine.compact();
      EngineStats merged = engine.stats();
      tree = merged.tree();
      assertEquals(new Level(0, 0, 0, 0, level0, level0), tree.levels().getFirst());
      assertEquals(
          new Level(BOTTOM, 1, merged.tableBytes(), 0, 0, merged.compactionBytes()),
          tree.levels().get(BOTTOM));
      assertEquals(merged.tableBytes(), merged.compactionBytes());
      assertEquals(1, tree.spaceAmplification());

      table(engine, 1);
      double space = engine.stats().tree().spaceAmplification();
      assertTrue(space > 1.9 && space < 2.1, "twice the pairs of the last level: " + space);
    }
  }

  @Test
  void scoresShowWhichLevelIsDue() {
    LsmOptions options =
        LsmOptions.builder(Path.of("unused")).compaction(CompactionStrategy.TIERED).build();
    try (Engine engine = LsmEngine.open(options, new SimulatedDirectory())) {
      table(engine, 0);
      table(engine, 1);
      assertEquals(0.5, engine.stats().tree().levels().getFirst().score(), "two of four tables");
    }
  }

  @Test
  void lookupsReportHowManyTablesTheySearched() {
    try (Engine engine = open(CompactionStrategy.OFF, 0)) {
      engine.put(key(0), new byte[1]);
      engine.get(key(0));
      assertEquals(0, engine.stats().tree().lookups(), "the memtable answered");
      table(engine, 0);
      table(engine, 1);
      table(engine, 0);
      for (int i = 100; i < 200; i++) {
        assertEquals(VALUE_BYTES, engine.get(key(i)).length);
        assertNull(engine.get("key00100-".getBytes(StandardCharsets.UTF_8)));
      }
      TreeStats tree = engine.stats().tree();
      assertEquals(200, tree.lookups());
      assertEquals(100, tree.absent());
      // Even keys are in the newest table; odd ones in the one before; the absent key in none of
      // three.
      assertEquals(50 + 300, tree.searchesWithoutHit());
      assertEquals(100 + 350, tree.searches());
      assertEquals(450 / 200.0, tree.readAmplification());
      assertEquals(0, engine.stats().bloomNegatives());
      assertEquals(0, engine.stats().bloomFalsePositives(), "there is no filter to be wrong");
    }
  }

  @Test
  void aKeyInAGapBetweenTheTablesOfALevelCausesNoSearch() {
    LsmOptions options =
        LsmOptions.builder(Path.of("unused")).bloomBitsPerKey(0).tableBytes(1_024).build();
    try (Engine engine = LsmEngine.open(options, new SimulatedDirectory())) {
      table(engine, 0);
      engine.compact();
      assertTrue(engine.stats().tables() > PAIRS / 20, "tables of a few pairs");
      for (int i = 0; i < PAIRS; i++) {
        assertNull(
            engine.get(
                (new String(key(2 * i), StandardCharsets.UTF_8) + "-")
                    .getBytes(StandardCharsets.UTF_8)));
      }
      long searches = engine.stats().tree().searchesWithoutHit();
      assertEquals(PAIRS - engine.stats().tables(), searches, "one gap after each table");
    }
  }

  @Test
  void filtersAreCountedWhetherTheyAreRightOrWrong() {
    try (Engine engine = open(CompactionStrategy.OFF, 10)) {
      table(engine, 0);
      for (int i = 0; i < PAIRS; i++) {
        assertNull(engine.get(key(2 * i + 1)));
      }
      EngineStats stats = engine.stats();
      // The last odd key is greater than all keys of the table, so its filter is not used.
      assertEquals(PAIRS - 1, stats.bloomNegatives() + stats.bloomFalsePositives());
      assertTrue(stats.bloomFalsePositives() < PAIRS / 20, stats.toString());
      assertEquals(stats.bloomFalsePositives(), stats.tree().searches());
    }
  }

  @Test
  void amplificationsOfAnEmptyTreeAreZero() {
    assertEquals(0, TreeStats.NONE.writeAmplification());
    assertEquals(0, TreeStats.NONE.readAmplification());
    assertEquals(0, TreeStats.NONE.spaceAmplification());
    TreeStats empty = new TreeStats(List.of(), 0, 10, 0, 0, 0, Map.of(StallCause.LEVEL0_FULL, 1L));
    assertEquals(0, empty.writeAmplification());
  }
}
