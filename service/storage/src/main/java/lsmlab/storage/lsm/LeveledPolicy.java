package lsmlab.storage.lsm;

import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.manifest.TableEntry;
import lsmlab.storage.version.TableSet;
import lsmlab.storage.version.TableSet.Placed;

/**
 * Keeps each level from 1 on as one sorted run. Level 0 holds flushed memtables, newest first,
 * whose keys overlap. The last level, {@link TableEntry#LEVEL_BOTTOM}, holds nearly all pairs. All
 * tables of level 0 are compacted together into the base level. The base level is the last level
 * while that is at most {@code fanout} times as large as the input from level 0; otherwise it is
 * the level above, and so on. So write amplification is about {@code fanout} times the number of
 * levels. Source: Dong et al., "Optimizing Space Amplification in RocksDB" (2017), which also sizes
 * levels from the last one up.
 *
 * <p>The level with the highest score is compacted first. The score is the number of tables in
 * level 0, or the size of another level, divided by the value at which a compaction is due. If
 * level 0 always came first, writers could keep it due, and the next level would grow without
 * limit. A level that only damaged tables make due is left as it is.
 *
 * <p>If level 0 is compacted straight into the last level, each compaction rewrites nearly the
 * whole store. So while writes continue, level 0 first grows to {@value #SHARE_OF_BOTTOM} of the
 * size of the last level, but to at most {@value #LEVEL0_MAX} tables, because a lookup searches
 * each of them. Once writes have stopped, a compaction is due at the usual number of tables, so
 * that an idle store takes little more space than its pairs.
 */
final class LeveledPolicy implements CompactionPolicy {

  private static final int LEVEL_BOTTOM = TableEntry.LEVEL_BOTTOM;

  /**
   * Size of level 0, as a fraction of the size of the last level, at which it is compacted straight
   * into that level.
   */
  private static final double SHARE_OF_BOTTOM = 0.5;

  /**
   * Maximum number of level-0 tables that a compaction waits for, unless the options set a higher
   * number.
   */
  private static final int LEVEL0_MAX = 8;

  private final long flushBytes;
  private final long baseBytes;
  private final int level0TablesMax;
  private final int fanout;

  LeveledPolicy(LsmOptions options) {
    this.level0TablesMax = options.level0TablesMax();
    this.fanout = options.fanout();
    this.flushBytes = options.flushThresholdBytes();
    this.baseBytes = flushBytes * level0TablesMax;
  }

  @Override
  public Task pick(TableSet tables, boolean resting, Set<Long> damaged) {
    double[] scores =
        IntStream.range(0, LEVEL_BOTTOM).mapToDouble(level -> score(tables, level)).toArray();
    if (resting) {
      scores[0] = (double) tables.newestFirst().size() / level0TablesMax;
    }
    return IntStream.range(0, LEVEL_BOTTOM)
        .boxed()
        .filter(level -> scores[level] >= 1)
        .sorted(Comparator.comparingDouble(level -> -scores[level]))
        .map(level -> level == 0 ? level0(tables) : oneTable(tables, level, damaged))
        .filter(task -> task != null && !task.takesAny(damaged))
        .findFirst()
        .orElse(null);
  }

  @Override
  public double score(TableSet tables, int level) {
    if (level == 0) {
      return (double) tables.newestFirst().size() / level0Trigger(tables);
    }
    long bytes = CompactionPolicy.bytes(CompactionPolicy.run(tables, level));
    if (bytes == 0 || level == LEVEL_BOTTOM) {
      return 0;
    }
    long target = target(tables, level);
    // Tables that are left in a level above the base level move down.
    return target == 0 ? 1 + (double) bytes / baseBytes : (double) bytes / target;
  }

  @Override
  public int level0Trigger(TableSet tables) {
    if (baseLevel(tables) < LEVEL_BOTTOM) {
      return level0TablesMax;
    }
    double wanted =
        SHARE_OF_BOTTOM
            * CompactionPolicy.bytes(CompactionPolicy.run(tables, LEVEL_BOTTOM))
            / flushBytes;
    return Math.clamp(Math.round(wanted), level0TablesMax, Math.max(LEVEL0_MAX, level0TablesMax));
  }

  private Task level0(TableSet tables) {
    int level = baseLevel(tables);
    List<List<Placed>> groups = CompactionPolicy.level0Groups(tables);
    List<Placed> below =
        CompactionPolicy.overlapping(CompactionPolicy.run(tables, level), tables.newestFirst());
    if (!below.isEmpty()) {
      groups.add(below);
    }
    return CompactionPolicy.task(tables, groups, level);
  }

  /**
   * Returns a compaction of one table of a level: the one that overlaps the fewest bytes of the
   * next level, relative to its own size. Returns null if each would take a damaged table.
   */
  private static Task oneTable(TableSet tables, int level, Set<Long> damaged) {
    List<Placed> next = CompactionPolicy.run(tables, level + 1);
    List<List<Placed>> best = null;
    double bestRatio = Double.MAX_VALUE;
    for (Placed candidate : CompactionPolicy.run(tables, level)) {
      List<Placed> below = CompactionPolicy.overlapping(next, List.of(candidate));
      double ratio = (double) CompactionPolicy.bytes(below) / candidate.table().bytes();
      List<List<Placed>> groups =
          below.isEmpty() ? List.of(List.of(candidate)) : List.of(List.of(candidate), below);
      if (ratio < bestRatio && !(new Task(groups, level + 1, false).takesAny(damaged))) {
        best = groups;
        bestRatio = ratio;
      }
    }
    return best == null ? null : CompactionPolicy.task(tables, best, level + 1);
  }

  /**
   * Returns the level into which level 0 is compacted. It is no deeper than the first level that
   * holds a table.
   */
  private int baseLevel(TableSet tables) {
    int level = LEVEL_BOTTOM;
    for (long bytes = CompactionPolicy.bytes(CompactionPolicy.run(tables, level));
        bytes > fanout * baseBytes && level > 1; ) {
      level--;
      bytes /= fanout;
    }
    assert level >= 1 && level <= LEVEL_BOTTOM : "level " + level;
    for (int upper = 1; upper < level; upper++) {
      if (!CompactionPolicy.run(tables, upper).isEmpty()) {
        return upper;
      }
    }
    return level;
  }

  private long target(TableSet tables, int level) {
    long bytes = CompactionPolicy.bytes(CompactionPolicy.run(tables, LEVEL_BOTTOM));
    for (int i = level; i < LEVEL_BOTTOM; i++) {
      bytes /= fanout;
    }
    return bytes < baseBytes ? 0 : bytes;
  }
}
