package lsmlab.storage;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import lsmlab.storage.TableSet.Placed;
import lsmlab.storage.manifest.TableEntry;
import lsmlab.storage.table.Table;

/**
 * Decides what to merge. Level 0 is tiered: whole memtables, newest first, whose keys overlap. Below it levels are
 * sorted runs, of which the last, {@link TableEntry#LEVEL_BOTTOM}, holds nearly everything. Level 0 is merged as a whole into the
 * base level: the last one while that is at most ten times what a merge brings, else the one above it, and so on. So
 * write amplification is about the ratio of two levels times their number, as in Dong et al., "Optimizing Space
 * Amplification in RocksDB" (2017), where levels are likewise sized from the last one up.
 *
 * <p>Where level 0 is merged straight into the last level, each merge writes nearly all of the store anew. So while writes
 * go on it waits for more tables there: for {@value #SHARE_OF_BOTTOM} of the last level, at most {@value #LEVEL0_MAX} tables,
 * which a reader has to ask. A gigabyte is then written 2.1 times for each half gigabyte that comes, not four times. Once
 * writing has ended, the usual number suffices, so that a store at rest takes little more room than its pairs.
 */
final class CompactionPicker {

  private static final int LEVEL_BOTTOM = TableEntry.LEVEL_BOTTOM;

  private static final int FANOUT = 10;

  /** Part of the last level that level 0 grows to before it is merged straight into it. */
  private static final double SHARE_OF_BOTTOM = 0.5;

  /** Tables of level 0 that a merge waits for at most. */
  private static final int LEVEL0_MAX = 8;

  /**
   * Tables to merge.
   *
   * @param newestFirst groups whose pairs shadow later groups'; tables of a group do not overlap
   * @param level that the result belongs to
   * @param dropTombstones whether nothing older than these tables can hold their keys
   */
  record Task(List<List<Placed>> newestFirst, int level, boolean dropTombstones) {
    List<Placed> inputs() {
      return newestFirst.stream().flatMap(List::stream).toList();
    }
  }

  private final long flushBytes;
  private final long baseBytes;
  private final int level0Trigger;

  CompactionPicker(LsmOptions options, int level0Trigger) {
    this.level0Trigger = level0Trigger;
    this.flushBytes = options.flushThresholdBytes();
    this.baseBytes = flushBytes * level0Trigger;
  }

  /**
   * The most urgent merge, or null if none is due.
   *
   * @param resting whether no more tables of level 0 are expected soon
   */
  Task pick(TableSet tables, boolean resting) {
    int level0 = tables.newestFirst().size();
    if (level0 >= level0Trigger && (resting || level0 >= trigger(tables))) {
      return level0(tables);
    }
    for (int level = baseLevel(tables); level < LEVEL_BOTTOM; level++) {
      if (bytes(run(tables, level)) > target(tables, level)) {
        return oneTable(tables, level);
      }
    }
    return null;
  }

  /** Tables of level 0 that make a merge due while writes go on. */
  int trigger(TableSet tables) {
    if (baseLevel(tables) < LEVEL_BOTTOM) {
      return level0Trigger;
    }
    double wanted = SHARE_OF_BOTTOM * bytes(run(tables, LEVEL_BOTTOM)) / flushBytes;
    return (int) Math.clamp(Math.round(wanted), level0Trigger, Math.max(LEVEL0_MAX, level0Trigger));
  }

  /** Everything into the last level; null if it is there already and holds no tombstone. */
  Task pickAll(TableSet tables) {
    List<Placed> bottom = run(tables, LEVEL_BOTTOM);
    boolean settled =
        bottom.size() == tables.count()
            && bottom.stream().allMatch(placed -> placed.table().tombstones() == 0);
    if (settled) {
      return null;
    }
    List<List<Placed>> groups = new ArrayList<>();
    tables.newestFirst().forEach(placed -> groups.add(List.of(placed)));
    tables.levels().stream().filter(level -> !level.isEmpty()).forEach(groups::add);
    return new Task(groups, LEVEL_BOTTOM, true);
  }

  private Task level0(TableSet tables) {
    int level = baseLevel(tables);
    List<List<Placed>> groups = new ArrayList<>();
    tables.newestFirst().forEach(placed -> groups.add(List.of(placed)));
    List<Placed> below = overlapping(run(tables, level), tables.newestFirst());
    if (!below.isEmpty()) {
      groups.add(below);
    }
    return task(tables, groups, level);
  }

  /** The table of a level that overlaps least of the next, by bytes. */
  private Task oneTable(TableSet tables, int level) {
    List<Placed> next = run(tables, level + 1);
    Placed best = null;
    List<Placed> bestBelow = List.of();
    double bestRatio = Double.MAX_VALUE;
    for (Placed candidate : run(tables, level)) {
      List<Placed> below = overlapping(next, List.of(candidate));
      double ratio = (double) bytes(below) / candidate.table().bytes();
      if (ratio < bestRatio) {
        best = candidate;
        bestBelow = below;
        bestRatio = ratio;
      }
    }
    List<List<Placed>> groups = new ArrayList<>();
    groups.add(List.of(best));
    if (!bestBelow.isEmpty()) {
      groups.add(bestBelow);
    }
    return task(tables, groups, level + 1);
  }

  private static Task task(TableSet tables, List<List<Placed>> groups, int level) {
    List<Placed> inputs = groups.stream().flatMap(List::stream).toList();
    boolean nothingBelow = true;
    for (int deeper = level + 1; deeper <= LEVEL_BOTTOM; deeper++) {
      nothingBelow &= overlapping(run(tables, deeper), inputs).isEmpty();
    }
    return new Task(groups, level, nothingBelow);
  }

  /** The level that level 0 is merged into: no deeper than the first one above it that holds something. */
  private int baseLevel(TableSet tables) {
    int level = LEVEL_BOTTOM;
    for (long bytes = bytes(run(tables, level)); bytes > FANOUT * baseBytes && level > 1; ) {
      level--;
      bytes /= FANOUT;
    }
    for (int upper = 1; upper < level; upper++) {
      if (!run(tables, upper).isEmpty()) {
        return upper;
      }
    }
    return level;
  }

  private long target(TableSet tables, int level) {
    long bytes = bytes(run(tables, LEVEL_BOTTOM));
    for (int i = level; i < LEVEL_BOTTOM; i++) {
      bytes /= FANOUT;
    }
    return bytes < baseBytes ? 0 : bytes;
  }

  private static List<Placed> run(TableSet tables, int level) {
    return level <= tables.levels().size() ? tables.levels().get(level - 1) : List.of();
  }

  private static long bytes(List<Placed> tables) {
    return tables.stream().mapToLong(placed -> placed.table().bytes()).sum();
  }

  private static List<Placed> overlapping(List<Placed> run, List<Placed> others) {
    byte[] min = null;
    byte[] max = null;
    for (Placed other : others) {
      Table table = other.table();
      if (min == null || Arrays.compareUnsigned(table.minKey(), min) < 0) {
        min = table.minKey();
      }
      if (max == null || Arrays.compareUnsigned(table.maxKey(), max) > 0) {
        max = table.maxKey();
      }
    }
    List<Placed> overlapping = new ArrayList<>();
    for (Placed placed : run) {
      if (Arrays.compareUnsigned(placed.table().maxKey(), min) >= 0
          && Arrays.compareUnsigned(placed.table().minKey(), max) <= 0) {
        overlapping.add(placed);
      }
    }
    return overlapping;
  }
}
