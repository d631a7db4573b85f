package lsmlab.storage.lsm;

import java.util.ArrayList;
import java.util.List;
import lsmlab.storage.EngineStats;
import lsmlab.storage.TreeStats;
import lsmlab.storage.manifest.TableEntry;
import lsmlab.storage.stats.LevelTraffic;
import lsmlab.storage.stats.LookupCounts;
import lsmlab.storage.version.TableSet;
import lsmlab.storage.version.Version;

/** Collects the counters and gauges of an engine's parts. Thread-safe. */
final class StatsCollector {

  private final Flusher flusher;
  private final Compactor compactor;
  private final CommitPipeline pipeline;
  private final ActiveWal wal;
  private final WriteController controller;
  private final LookupCounts lookups;
  private final LevelTraffic traffic;

  StatsCollector(
      Flusher flusher,
      Compactor compactor,
      CommitPipeline pipeline,
      ActiveWal wal,
      WriteController controller,
      LookupCounts lookups,
      LevelTraffic traffic) {
    this.flusher = flusher;
    this.compactor = compactor;
    this.pipeline = pipeline;
    this.wal = wal;
    this.controller = controller;
    this.lookups = lookups;
    this.traffic = traffic;
  }

  /** Collects the statistics. The caller holds a reference to the version. */
  EngineStats collect(Version version) {
    TreeStats tree = tree(version.tables());
    return new EngineStats(
        version.memtableBytes(),
        version.sealedCount(),
        flusher.flushes(),
        flusher.flushBytes(),
        flusher.flushNanos(),
        compactor.compactions(),
        // Only flushes write to level 0.
        tree.levels().stream().skip(1).mapToLong(TreeStats.Level::bytesWritten).sum(),
        compactor.nanos(),
        version.tables().count(),
        version.tables().bytes(),
        lookups.filtered(),
        lookups.falsePositives(),
        tree.walBytes(),
        wal.syncs(),
        tree.stallNanos().values().stream().mapToLong(Long::longValue).sum(),
        tree);
  }

  private TreeStats tree(TableSet tables) {
    List<TreeStats.Level> levels = new ArrayList<>();
    for (int level = 0; level <= TableEntry.LEVEL_BOTTOM; level++) {
      List<TableSet.Placed> placed =
          level == 0 ? tables.newestFirst() : CompactionPolicy.run(tables, level);
      levels.add(
          new TreeStats.Level(
              level,
              placed.size(),
              CompactionPolicy.bytes(placed),
              compactor.score(tables, level),
              traffic.read(level),
              traffic.written(level)));
    }
    return new TreeStats(
        levels,
        pipeline.acceptedBytes(),
        wal.bytes(),
        lookups.lookups(),
        lookups.absent(),
        lookups.searchesWithoutHit(),
        controller.stallNanos());
  }
}
