package lsmlab.storage.lsm;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.manifest.TableEntry;
import lsmlab.storage.table.Table;
import lsmlab.storage.version.TableSet;
import lsmlab.storage.version.TableSet.Placed;

/** Decides which tables to compact. Stateless and thread-safe. */
interface CompactionPolicy {

  /**
   * One compaction: the tables to merge, and the level of the result.
   *
   * @param newestFirst groups of tables that do not overlap within a group; the newest group comes
   *     first, and its pairs hide older pairs with the same key
   * @param level level of the merged tables
   * @param dropTombstones whether tombstones may be dropped, because no older table has these keys
   */
  record Task(List<List<Placed>> newestFirst, int level, boolean dropTombstones) {
    List<Placed> inputs() {
      return newestFirst.stream().flatMap(List::stream).toList();
    }

    boolean takesAny(Set<Long> tables) {
      return inputs().stream().anyMatch(placed -> tables.contains(placed.table().number()));
    }
  }

  /** Returns the policy that the options select. */
  static CompactionPolicy of(LsmOptions options) {
    return switch (options.compaction()) {
      case LEVELED -> new LeveledPolicy(options);
      case TIERED -> new TieredPolicy(options);
      case OFF -> new Off();
    };
  }

  /**
   * Returns the most urgent compaction that takes no damaged table, or null if none is due.
   *
   * @param resting whether no further flush to level 0 is expected soon
   * @param damaged numbers of tables that cannot be read completely
   */
  Task pick(TableSet tables, boolean resting, Set<Long> damaged);

  /** Returns the number of level-0 tables at which a compaction is due while writes continue. */
  int level0Trigger(TableSet tables);

  /** Returns how urgent a compaction of this level is; at 1 or more it is due. */
  double score(TableSet tables, int level);

  /**
   * Returns a compaction of all tables into the last level; null if all are already there and hold
   * no tombstone.
   */
  static Task all(TableSet tables) {
    List<Placed> bottom = run(tables, TableEntry.LEVEL_BOTTOM);
    boolean settled =
        bottom.size() == tables.count()
            && bottom.stream().allMatch(placed -> placed.table().tombstones() == 0);
    if (settled) {
      return null;
    }
    List<List<Placed>> groups = level0Groups(tables);
    tables.levels().stream().filter(level -> !level.isEmpty()).forEach(groups::add);
    return new Task(groups, TableEntry.LEVEL_BOTTOM, true);
  }

  /**
   * Returns the tables of level 0, newest first, each as a group of its own. The caller may extend
   * the list.
   */
  static List<List<Placed>> level0Groups(TableSet tables) {
    List<List<Placed>> groups = new ArrayList<>();
    tables.newestFirst().forEach(placed -> groups.add(List.of(placed)));
    return groups;
  }

  /** Returns a task that keeps tombstones if a deeper level may hold their keys. */
  static Task task(TableSet tables, List<List<Placed>> groups, int level) {
    assert level >= 1 && level <= TableEntry.LEVEL_BOTTOM : "level " + level;
    List<Placed> inputs = groups.stream().flatMap(List::stream).toList();
    boolean nothingBelow = true;
    for (int deeper = level + 1; deeper <= TableEntry.LEVEL_BOTTOM; deeper++) {
      nothingBelow &= overlapping(run(tables, deeper), inputs).isEmpty();
    }
    return new Task(groups, level, nothingBelow);
  }

  /** Returns the tables of a level other than 0, by key. */
  static List<Placed> run(TableSet tables, int level) {
    return level <= tables.levels().size() ? tables.levels().get(level - 1) : List.of();
  }

  static long bytes(List<Placed> tables) {
    return tables.stream().mapToLong(placed -> placed.table().bytes()).sum();
  }

  /** Returns the tables of a run that overlap the key range of {@code others}. */
  static List<Placed> overlapping(List<Placed> run, List<Placed> others) {
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

  /** Never compacts in the background. */
  final class Off implements CompactionPolicy {
    @Override
    public Task pick(TableSet tables, boolean resting, Set<Long> damaged) {
      return null;
    }

    @Override
    public int level0Trigger(TableSet tables) {
      return Integer.MAX_VALUE;
    }

    @Override
    public double score(TableSet tables, int level) {
      return 0;
    }
  }
}
