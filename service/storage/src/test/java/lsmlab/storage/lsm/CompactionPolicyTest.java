package lsmlab.storage.lsm;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import lsmlab.storage.CompactionStrategy;
import lsmlab.storage.Engine;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.file.SimulatedDirectory;
import lsmlab.storage.manifest.TableEntry;
import lsmlab.storage.table.Table;
import lsmlab.storage.table.TableLayout;
import lsmlab.storage.table.TableWriter;
import lsmlab.storage.version.TableSet;
import lsmlab.storage.version.TableSet.Placed;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class CompactionPolicyTest {

  private static final int BOTTOM = TableEntry.LEVEL_BOTTOM;

  private final SimulatedDirectory directory = new SimulatedDirectory();
  private final List<Placed> tables = new ArrayList<>();
  private final Set<Long> damaged = new HashSet<>();
  private long number;

  private static LsmOptions.Builder options(CompactionStrategy compaction) {
    return LsmOptions.builder(Path.of("unused"))
        .compaction(compaction)
        .flushThresholdBytes(10_000)
        .tableBytes(10_000);
  }

  /** Adds a table of about this many bytes. Tables of a level do not overlap. */
  private void add(int level, int bytes) throws IOException {
    number++;
    try (TableWriter writer =
        new TableWriter(directory, number, number, new TableLayout(4096, 0))) {
      String from = "key%06d".formatted(level == 0 ? 10 : number);
      for (int i = 0; i * 100 < bytes; i++) {
        byte[] key = (from + "-%06d".formatted(i)).getBytes(StandardCharsets.US_ASCII);
        writer.add(
            MemorySegment.ofArray(key), 0, key.length, MemorySegment.ofArray(new byte[70]), 0, 70);
      }
      writer.finish();
    }
    Table table = Table.open(directory, number);
    tables.add(new Placed(new TableEntry(number, level, number, table.bytes()), table));
  }

  private CompactionPolicy.Task pick(CompactionStrategy strategy) {
    return CompactionPolicy.of(options(strategy).build())
        .pick(new TableSet(tables), false, damaged);
  }

  private long[] inputs(CompactionStrategy strategy) {
    CompactionPolicy.Task task = pick(strategy);
    return task.inputs().stream().mapToLong(placed -> placed.entry().number()).sorted().toArray();
  }

  @Test
  void aDamagedTableIsLeftOutAndTheOthersOfItsLevelAreCompacted() throws IOException {
    add(BOTTOM, 400_000);
    add(BOTTOM - 1, 60_000);
    add(BOTTOM - 1, 60_000);
    damaged.add(2L);
    assertArrayEquals(new long[] {3}, inputs(CompactionStrategy.LEVELED));
    damaged.add(3L);
    assertNull(pick(CompactionStrategy.LEVELED));
  }

  @Test
  void aLevelThatIsNotDamagedIsCompactedInsteadOfAMoreUrgentOne() throws IOException {
    add(BOTTOM, 400_000);
    add(BOTTOM - 1, 60_000);
    for (int i = 0; i < 8; i++) {
      add(0, 10_000);
    }
    damaged.add(4L);
    assertArrayEquals(new long[] {2}, inputs(CompactionStrategy.LEVELED));
  }

  @Test
  void tieredMergesTheRunsAboveADamagedOne() throws IOException {
    add(BOTTOM, 10_000);
    for (int i = 0; i < 4; i++) {
      add(0, 10_000);
    }
    assertArrayEquals(new long[] {1, 2, 3, 4, 5}, inputs(CompactionStrategy.TIERED));
    damaged.add(1L);
    assertArrayEquals(new long[] {2, 3, 4, 5}, inputs(CompactionStrategy.TIERED));
    assertEquals(BOTTOM - 1, pick(CompactionStrategy.TIERED).level());
    damaged.add(3L);
    assertNull(pick(CompactionStrategy.TIERED));
  }

  @Test
  void aLevelFarAboveItsTargetIsCompactedEvenIfLevelZeroIsDue() throws IOException {
    for (int i = 0; i < 100; i++) {
      add(BOTTOM, 10_000);
    }
    for (int i = 0; i < 4; i++) {
      add(0, 10_000);
    }
    CompactionPolicy.Task top = pick(CompactionStrategy.LEVELED);
    assertEquals(BOTTOM - 1, top.level(), "level 0 goes to the base level");
    for (int i = 0; i < 50; i++) {
      add(BOTTOM - 1, 10_000);
    }
    CompactionPolicy.Task deeper = pick(CompactionStrategy.LEVELED);
    assertEquals(BOTTOM, deeper.level(), "the base level has five times its size");
    assertTrue(deeper.inputs().stream().noneMatch(placed -> placed.entry().level() == 0));
  }

  /** Under continuous writes, no level grows beyond a small multiple of its target. */
  @ParameterizedTest
  @EnumSource(
      names = {"LEVELED", "TIERED"},
      value = CompactionStrategy.class)
  void levelsStayBoundedUnderContinuousOverwrites(CompactionStrategy strategy) {
    Random random = new Random(1);
    LsmOptions options =
        options(strategy)
            .flushThresholdBytes(8_000)
            .tableBytes(8_000)
            .stallMillisMax(60_000)
            .build();
    try (LsmEngine engine = LsmEngine.open(options, directory)) {
      byte[] value = new byte[100];
      long before = 0;
      List<Long> merged = new ArrayList<>();
      for (int round = 0; round < 12; round++) {
        for (int i = 0; i < 2_000; i++) {
          random.nextBytes(value);
          engine.put(("key" + random.nextInt(6_000)).getBytes(StandardCharsets.US_ASCII), value);
        }
        long bytes = engine.stats().compactionBytes();
        merged.add(bytes - before);
        before = bytes;
      }
      long early = merged.subList(3, 6).stream().mapToLong(Long::longValue).sum();
      long last = merged.subList(9, 12).stream().mapToLong(Long::longValue).sum();
      assertTrue(last < 4 * Math.max(early, 600_000), "merged in a round: " + merged);
      engine.quiesce();
      // A store of 0.7 MB.
      assertTrue(engine.stats().tableBytes() < 2_500_000, engine.stats().toString());
    }
  }

  @Test
  void tieredMergesRunsOfSimilarSizeAndLeavesLargerOnes() throws IOException {
    for (int i = 0; i < 20; i++) {
      add(BOTTOM, 10_000);
    }
    add(0, 10_000);
    assertNull(pick(CompactionStrategy.TIERED));
    for (int i = 0; i < 3; i++) {
      add(0, 10_000);
    }
    CompactionPolicy.Task small = pick(CompactionStrategy.TIERED);
    assertEquals(BOTTOM - 1, small.level());
    assertEquals(4, small.inputs().size());
    assertFalse(small.dropTombstones(), "an older run may hold their keys");
    for (int i = 0; i < 4; i++) {
      add(BOTTOM - 1, 10_000);
    }
    CompactionPolicy.Task two = pick(CompactionStrategy.TIERED);
    assertEquals(BOTTOM - 1, two.level());
    assertEquals(8, two.inputs().size());
    for (int i = 0; i < 14; i++) {
      add(0, 10_000);
    }
    assertEquals(BOTTOM, pick(CompactionStrategy.TIERED).level(), "all of them together");
  }

  @Test
  void tieredMergesTheRunOfLevelOneBecauseNoLevelIsAboveIt() throws IOException {
    for (int level = 1; level <= BOTTOM; level++) {
      for (int i = 0; i < 1 << level; i++) {
        add(level, 50_000);
      }
    }
    for (int i = 0; i < 4; i++) {
      add(0, 1_000);
    }
    CompactionPolicy.Task task = pick(CompactionStrategy.TIERED);
    assertEquals(1, task.level());
    assertEquals(6, task.inputs().size());
  }

  @Test
  void offCompactsOnlyOnDemand() throws IOException {
    for (int i = 0; i < 20; i++) {
      add(0, 1_000);
    }
    assertNull(pick(CompactionStrategy.OFF));
    assertNotNull(CompactionPolicy.all(new TableSet(tables)));
    try (Engine engine =
        LsmEngine.open(options(CompactionStrategy.OFF).build(), new SimulatedDirectory())) {
      for (int i = 0; i < 10; i++) {
        engine.put(new byte[] {1}, new byte[] {2});
        engine.flush();
      }
      engine.quiesce();
      assertEquals(10, engine.stats().tables());
      engine.compact();
      assertEquals(1, engine.stats().tables());
    }
  }
}
