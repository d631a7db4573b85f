package lsmlab.storage.lsm;

import java.util.List;
import java.util.Set;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.manifest.TableEntry;
import lsmlab.storage.version.TableSet;
import lsmlab.storage.version.TableSet.Placed;

/**
 * Merges runs of similar size: the tables of level 0, then each next older run, as long as it is no
 * larger than all newer runs together. Each level from 1 on is one run; deeper levels are older.
 * The result goes to the level above the first run that is not merged. So each run is larger than
 * all newer runs together, there are few runs, and a pair is rewritten about once each time the
 * store doubles in size. Source: RocksDB's universal compaction; Dong et al., "Optimizing Space
 * Amplification in RocksDB" (2017), section 2.
 *
 * <p>If level 1 holds a run, that run is always merged too, because there is no level above it for
 * the result. A run with a damaged table is not merged unless it is in level 1.
 */
final class TieredPolicy implements CompactionPolicy {

  private final int level0TablesMax;

  TieredPolicy(LsmOptions options) {
    this.level0TablesMax = options.level0TablesMax();
  }

  @Override
  public Task pick(TableSet tables, boolean resting, Set<Long> damaged) {
    if (score(tables, 0) < 1) {
      return null;
    }
    List<List<Placed>> groups = CompactionPolicy.level0Groups(tables);
    long newer = CompactionPolicy.bytes(tables.newestFirst());
    int target = TableEntry.LEVEL_BOTTOM;
    for (int level = 1; level <= TableEntry.LEVEL_BOTTOM; level++) {
      List<Placed> run = CompactionPolicy.run(tables, level);
      long bytes = CompactionPolicy.bytes(run);
      if (run.isEmpty()) {
        continue;
      }
      boolean isDamaged =
          run.stream().anyMatch(placed -> damaged.contains(placed.table().number()));
      if (level > 1 && (bytes > newer || isDamaged)) {
        target = level - 1;
        break;
      }
      groups.add(run);
      newer += bytes;
    }
    Task task = CompactionPolicy.task(tables, groups, target);
    return task.takesAny(damaged) ? null : task;
  }

  @Override
  public int level0Trigger(TableSet tables) {
    return level0TablesMax;
  }

  /** Only level 0 can make a compaction due. */
  @Override
  public double score(TableSet tables, int level) {
    return level == 0 ? (double) tables.newestFirst().size() / level0TablesMax : 0;
  }
}
