package lsmlab.storage.lsm;

import lsmlab.storage.LsmOptions;
import lsmlab.storage.memtable.ChunkPool;
import lsmlab.storage.memtable.Memtable;
import lsmlab.storage.version.OpenScans;
import lsmlab.storage.version.Version;
import lsmlab.storage.version.VersionSet;

/**
 * Gives the {@link CommitPipeline} its memtables: decides which one takes writes, when it is full,
 * and which one follows. Called only by the pipeline's leader.
 */
final class MemtableRotation implements CommitPipeline.Memtables {

  private final LsmOptions options;
  private final VersionSet versions;
  private final ChunkPool pool;
  private final Flusher flusher;
  private final OpenScans scans;

  MemtableRotation(
      LsmOptions options, VersionSet versions, ChunkPool pool, Flusher flusher, OpenScans scans) {
    this.options = options;
    this.versions = versions;
    this.pool = pool;
    this.flusher = flusher;
    this.scans = scans;
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
  public void seal(long logNumber) {
    Memtable full = versions.current().active();
    versions.seal(new Memtable(pool, logNumber));
    flusher.add(full);
    scans.enforceSoon(versions);
  }
}
