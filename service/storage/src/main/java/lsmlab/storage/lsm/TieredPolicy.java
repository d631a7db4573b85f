package lsmlab.storage.lsm;

import java.util.List;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.lsm.TableSet.Placed;
import lsmlab.storage.manifest.TableEntry;

/**
 * Merges runs of similar size: the tables of level 0, and as many of the next older runs as are no larger than everything
 * newer together. Each level from 1 on is a run, the deeper the older; the result goes as deep as the runs that stay allow.
 * So each run is larger than all newer ones together, there are few of them, and a pair is written again about as often as
 * the store has doubled since. Source: "universal" compaction of RocksDB; Dong et al., "Optimizing Space Amplification in
 * RocksDB" (2017), section 2.
 *
 * <p>If level 1 is taken by a run, there is no place above it: that run is merged too, however large it is.
 */
final class TieredPolicy implements CompactionPolicy {

  private final int level0TablesMax;

  TieredPolicy(LsmOptions options) {
    this.level0TablesMax = options.level0TablesMax();
  }

  @Override
  public Task pick(TableSet tables, boolean resting) {
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
      if (level > 1 && bytes > newer) {
        target = level - 1;
        break;
      }
      groups.add(run);
      newer += bytes;
    }
    return CompactionPolicy.task(tables, groups, target);
  }

  @Override
  public int level0Trigger(TableSet tables) {
    return level0TablesMax;
  }

  /** Only the newest runs make a merge due. */
  @Override
  public double score(TableSet tables, int level) {
    return level == 0 ? (double) tables.newestFirst().size() / level0TablesMax : 0;
  }
}
