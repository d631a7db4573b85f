package lsmlab.storage.lsm;

import java.io.IOException;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.manifest.LogEntry;
import lsmlab.storage.memtable.ChunkPool;
import lsmlab.storage.memtable.Memtable;
import lsmlab.storage.version.OpenScans;
import lsmlab.storage.version.Version;
import lsmlab.storage.version.VersionSet;
import lsmlab.storage.wal.WalWriter;

/**
 * Gives the {@link CommitPipeline} its memtables and logs: which memtable takes writes, when it is
 * full, and what follows it. Called by the pipeline's leader only.
 */
final class MemtableRotation implements CommitPipeline.Memtables {

  private final LsmOptions options;
  private final VersionSet versions;
  private final WalLifecycle logs;
  private final WalPreallocator walPreallocator;
  private final ChunkPool pool;
  private final Flusher flusher;
  private final OpenScans scans;

  /** The last log that was there when the store was opened. */
  private final LogEntry recovered;

  MemtableRotation(
      LsmOptions options,
      VersionSet versions,
      WalLifecycle logs,
      WalPreallocator walPreallocator,
      ChunkPool pool,
      Flusher flusher,
      OpenScans scans,
      LogEntry recovered) {
    this.options = options;
    this.versions = versions;
    this.logs = logs;
    this.walPreallocator = walPreallocator;
    this.pool = pool;
    this.flusher = flusher;
    this.scans = scans;
    this.recovered = recovered;
  }

  @Override
  public Memtable active() {
    return versions.current().active();
  }

  @Override
  public boolean isSealDue() {
    Version version = versions.current();
    Memtable active = version.active();
    return (active.bytes() >= options.flushThresholdBytes() || active.isFull())
        && version.sealedCount() < options.memtablesMax();
  }

  @Override
  public void seal(WalWriter log) {
    Memtable full = versions.current().active();
    versions.seal(new Memtable(pool, log.number()));
    flusher.add(full);
    scans.enforceSoon(versions);
  }

  @Override
  public WalWriter firstLog() throws IOException {
    return logs.begin(active().logNumber(), recovered);
  }

  @Override
  public WalWriter newLog(WalWriter previous) throws IOException {
    return logs.begin(
        walPreallocator.take(), new LogEntry(previous.number(), previous.certainLength()));
  }
}
