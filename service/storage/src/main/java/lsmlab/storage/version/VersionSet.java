package lsmlab.storage.version;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import lsmlab.storage.concurrent.ReadGate;
import lsmlab.storage.concurrent.Threads;
import lsmlab.storage.file.StoreDirectory;
import lsmlab.storage.manifest.Edit;
import lsmlab.storage.manifest.LogEntry;
import lsmlab.storage.manifest.Manifest;
import lsmlab.storage.manifest.TableEntry;
import lsmlab.storage.memtable.Memtable;
import lsmlab.storage.table.Table;
import lsmlab.storage.wal.WalFormat;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Holds the current {@link Version}, replaces it, and releases old ones.
 *
 * <p>Protocol of a change to the tables, under {@code manifestLock}, once the files and names of
 * the new tables are durable: append the change to the manifest and sync it; replace the current
 * version under {@code versionLock}; record in the manifest that the change is durable; delete logs
 * that are no longer needed. Sealing a memtable needs only {@code versionLock}, so a writer never
 * waits for a sync of the manifest.
 *
 * <p>A replaced version goes to the reclaiming thread, which waits until no reader can still begin
 * to use it, then releases it. So files are unmapped and deleted on that thread or when a scan is
 * closed, never in a lookup. If that thread does not keep up, changes to the tables wait for it.
 * Otherwise replaced versions would keep an unlimited number of flushed memtables and replaced
 * tables alive.
 */
public final class VersionSet implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(VersionSet.class);

  private final StoreDirectory directory;
  private final Manifest manifest;
  private final AtomicLong nextFile;
  private final ReentrantLock manifestLock = new ReentrantLock();
  private final ReentrantLock versionLock = new ReentrantLock();
  private final ReadGate gate = new ReadGate();
  private final LinkedBlockingQueue<Runnable> retired = new LinkedBlockingQueue<>();
  private final Thread reclaimer;

  /**
   * Tables that the manifest no longer names, each with a reference, until the manifest records
   * that the change is durable. Guarded by {@code manifestLock}.
   */
  private final List<Table> obsolete = new ArrayList<>();

  private volatile Version current;

  /** Opens once the version that the last change to the tables replaced has been released. */
  private volatile CountDownLatch lastChange = new CountDownLatch(0);

  public VersionSet(StoreDirectory directory, Manifest manifest, long nextFile, Version first) {
    this.directory = directory;
    this.manifest = manifest;
    this.nextFile = new AtomicLong(nextFile);
    this.current = first;
    reclaimer = Threads.daemon("lsmlab-reclaim", this::reclaim);
    reclaimer.start();
  }

  /** Returns the gate that protects short uses of {@link #current} without a reference. */
  public ReadGate gate() {
    return gate;
  }

  /** Returns the current version. Use it only within a section of the gate. */
  public Version current() {
    return current;
  }

  /** Returns the current version with a reference, which the caller must release. */
  public Version acquire() {
    int ticket = gate.enter();
    try {
      Version version = current;
      if (version == null) {
        throw new IllegalStateException("the store is closed");
      }
      version.retain();
      return version;
    } finally {
      gate.exit(ticket);
    }
  }

  /** Returns the number of the log that takes writes. */
  public long logInUse() {
    Version version = acquire();
    try {
      return version.active().logNumber();
    } finally {
      releaseQuietly(version);
    }
  }

  public long newFileNumber() {
    return nextFile.getAndIncrement();
  }

  /**
   * Makes {@code fresh} the active memtable; the active one becomes the newest sealed one. Takes
   * over the caller's reference.
   */
  public void seal(Memtable fresh) {
    versionLock.lock();
    try {
      assert fresh.logNumber() > current.active().logNumber() : "memtables must be sealed in order";
      List<Memtable> sealed = new ArrayList<>();
      sealed.add(current.active());
      sealed.addAll(current.sealed());
      replace(new Version(fresh, sealed, current.tables()));
    } finally {
      versionLock.unlock();
    }
    fresh.release();
  }

  /**
   * Publishes the tables of flushed memtables, which must be the oldest sealed ones. Drops the
   * memtables and their logs.
   *
   * @throws IOException if the manifest cannot be written; in that case nothing has changed
   */
  public void publishFlush(List<Memtable> flushed, List<TableSet.Placed> added) throws IOException {
    publish(new HashSet<>(flushed), Set.of(), added);
  }

  /**
   * Replaces tables with the outputs of a compaction. The replaced files are deleted after their
   * last reader has finished.
   *
   * @throws IOException if the manifest cannot be written; in that case nothing has changed
   */
  public void publishCompaction(Set<Table> removed, List<TableSet.Placed> added)
      throws IOException {
    publish(Set.of(), removed, added);
  }

  private void publish(Set<Memtable> flushed, Set<Table> removed, List<TableSet.Placed> added)
      throws IOException {
    Threads.await(lastChange);
    manifestLock.lock();
    try {
      long firstLog = firstLogWithout(flushed);
      List<Long> removedNumbers = removed.stream().map(Table::number).sorted().toList();
      List<TableEntry> entries = added.stream().map(TableSet.Placed::entry).toList();
      assert firstLog >= manifest.firstLog() : "log " + firstLog + " was already dropped";
      // Built before the manifest is written, because it checks that no tables overlap.
      TableSet tables = current.tables().changed(removed, added);
      manifest.append(new Edit(nextFile.get(), firstLog, removedNumbers, entries));
      assert isNamedBy(manifest, tables) : "the manifest names other tables than the version has";
      removed.forEach(Table::retain);
      obsolete.addAll(removed);
      versionLock.lock();
      try {
        List<Memtable> sealed =
            current.sealed().stream().filter(memtable -> !flushed.contains(memtable)).toList();
        replace(new Version(current.active(), sealed, tables));
      } finally {
        versionLock.unlock();
      }
      lastChange = reclaimed();
      for (TableSet.Placed placed : added) {
        placed.table().release();
      }
      cleanUp(firstLog);
    } finally {
      manifestLock.unlock();
    }
  }

  /** Returns the log of the oldest memtable that is not among the flushed ones. */
  private long firstLogWithout(Set<Memtable> flushed) {
    Version version = current;
    long first = version.active().logNumber();
    for (Memtable memtable : version.sealed()) {
      if (!flushed.contains(memtable)) {
        first = Math.min(first, memtable.logNumber());
      } else {
        assert memtable.logNumber() < first : "memtables must be published oldest first";
      }
    }
    return first;
  }

  /**
   * Cleans up after a change. A step that fails is repeated after the next change or at the next
   * start.
   */
  private void cleanUp(long firstLog) {
    assert manifestLock.isHeldByCurrentThread();
    try {
      manifest.noteSynced();
      obsolete.forEach(Table::markObsolete);
      releaseObsolete();
      for (String name : directory.list()) {
        long log = WalFormat.number(name);
        if (log >= 0 && log < firstLog) {
          directory.delete(name);
        }
      }
    } catch (IOException e) {
      LOG.warn("unneeded files stay until the next change of the tables: {}", e.toString());
    }
  }

  private static boolean isNamedBy(Manifest manifest, TableSet tables) {
    Set<TableEntry> named = new HashSet<>(manifest.tables());
    return named.size() == tables.count()
        && tables.placed().stream().allMatch(placed -> named.contains(placed.entry()));
  }

  private void releaseObsolete() {
    for (Table table : obsolete) {
      try {
        table.release();
      } catch (IOException e) {
        LOG.warn("a table's file stays until the next start: {}", e.toString());
      }
    }
    obsolete.clear();
  }

  private void replace(Version next) {
    assert versionLock.isHeldByCurrentThread();
    Version old = current;
    assert next.active().logNumber() >= old.active().logNumber() : "an older version came back";
    current = next;
    retired.add(() -> releaseQuietly(old));
  }

  private void reclaim() {
    try {
      while (true) {
        List<Runnable> batch = new ArrayList<>();
        batch.add(retired.take());
        retired.drainTo(batch);
        gate.awaitReaders();
        batch.forEach(VersionSet::runOne);
      }
    } catch (InterruptedException e) {
      LOG.debug("reclaiming has ended");
    }
  }

  private static void runOne(Runnable task) {
    try {
      task.run();
    } catch (RuntimeException | Error e) {
      LOG.error("reclaiming failed: memory and files of a replaced version may stay", e);
    }
  }

  /** Releases a version. A file that cannot be deleted now is deleted at the next start. */
  public static void releaseQuietly(Version version) {
    try {
      version.release();
    } catch (IOException e) {
      LOG.warn("a table's file stays until the next start: {}", e.toString());
    }
  }

  /** Runs a short task on the reclaiming thread. Not allowed after {@link #close}. */
  public void runSoon(Runnable task) {
    retired.add(task);
  }

  /** Returns once this object has released every version that was replaced before this call. */
  public void awaitReclaimed() {
    Threads.await(reclaimed());
  }

  /** Returns a latch that opens once every version that has been replaced so far is released. */
  private CountDownLatch reclaimed() {
    CountDownLatch reached = new CountDownLatch(1);
    retired.add(reached::countDown);
    return reached;
  }

  /** Returns the number of the first log that is still needed. */
  public long firstLog() {
    return firstLogWithout(Set.of());
  }

  /** Records in the manifest that this log and all needed ones before it are durable. */
  public void noteDurableLog(LogEntry log) throws IOException {
    manifestLock.lock();
    try {
      manifest.append(new Edit(nextFile.get(), manifest.firstLog(), List.of(), List.of(), log));
      manifest.noteSynced();
    } finally {
      manifestLock.unlock();
    }
  }

  /**
   * Ends the reclaiming thread, and releases the current version after its last reader has
   * finished. Refuses new readers from then on.
   */
  @Override
  public void close() throws IOException {
    awaitReclaimed();
    // The thread is in take(), where it does no I/O, so the interrupt closes no channel.
    reclaimer.interrupt();
    Threads.join(reclaimer);
    Version last = current;
    current = null;
    gate.awaitReaders();
    releaseQuietly(last);
    releaseObsolete();
    manifest.close();
  }
}
