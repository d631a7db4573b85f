package lsmlab.storage;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import lsmlab.storage.TableSet.Placed;
import lsmlab.storage.cursor.Cursor;
import lsmlab.storage.cursor.MergingCursor;
import lsmlab.storage.file.StoreDirectory;
import lsmlab.storage.file.SyncFailedException;
import lsmlab.storage.manifest.TableEntry;
import lsmlab.storage.table.Table;
import lsmlab.storage.table.TableWriter;

/**
 * Merges tables in one background thread, one {@link CompactionPicker.Task} after the other: those that are due where
 * the options say so, and everything on demand. Inputs stay readable until the result is published; a merge that is
 * broken off leaves nothing behind.
 */
final class Compactor implements AutoCloseable {

  /** Tables in level 0 that make a merge due. */
  static final int LEVEL0_TRIGGER = 4;

  /** Tables in level 0 from which on writes are slowed down, and at which they are held back. */
  static final int LEVEL0_SLOW = 20;

  static final int LEVEL0_STOP = 36;

  private static final long RETRY_MILLIS = 1_000;
  private static final int ENTRIES_PER_CHECK = 1_024;

  /** Ends a merge early because the store is being closed. */
  private static final class BrokenOff extends RuntimeException {
    private static final long serialVersionUID = 1L;
  }

  private final StoreDirectory directory;
  private final LsmOptions options;
  private final Versions versions;
  private final Health health;
  private final Runnable published;
  private final CompactionPicker picker;
  private final Thread thread = Threads.daemon("lsmlab-compact", this::work);
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();

  // Guarded by lock.
  private long fullRequested;
  private long fullDone;
  private boolean busy;

  private volatile boolean closing;
  private final LongAdder compactions = new LongAdder();
  private final LongAdder bytes = new LongAdder();
  private final LongAdder nanos = new LongAdder();

  /**
   * @param published called after each publication, by the compaction thread
   */
  Compactor(
      StoreDirectory directory,
      LsmOptions options,
      Versions versions,
      Health health,
      Runnable published) {
    this.directory = directory;
    this.options = options;
    this.versions = versions;
    this.health = health;
    this.published = published;
    this.picker = new CompactionPicker(options, LEVEL0_TRIGGER);
  }

  void start() {
    thread.start();
  }

  /** Tables were added: look whether a merge is due. */
  void tablesChanged() {
    lock.lock();
    try {
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Merges everything there is now and returns when done. */
  void compactAll() {
    lock.lock();
    try {
      long wanted = ++fullRequested;
      changed.signalAll();
      while (fullDone < wanted) {
        checkHopeful();
        changed.await(100, TimeUnit.MILLISECONDS);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while waiting for a merge", e);
    } finally {
      lock.unlock();
    }
  }

  /** Returns when no merge is running or due. */
  void awaitIdle() {
    lock.lock();
    try {
      while (busy || fullDone < fullRequested || isDue()) {
        checkHopeful();
        changed.await(20, TimeUnit.MILLISECONDS);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while waiting for a merge", e);
    } finally {
      lock.unlock();
    }
  }

  private void checkHopeful() {
    health.checkHopeful(Health.Activity.MERGING);
    if (closing) {
      throw new IllegalStateException("the store is being closed");
    }
  }

  private boolean isDue() {
    if (!options.compaction()) {
      return false;
    }
    Version version = versions.acquire();
    try {
      return picker.pick(version.tables()) != null;
    } finally {
      Versions.releaseQuietly(version);
    }
  }

  private void work() {
    while (awaitWork()) {
      long full = fullTarget();
      Version version = versions.acquire();
      try {
        CompactionPicker.Task task =
            full > 0 ? picker.pickAll(version.tables()) : picker.pick(version.tables());
        if (task != null) {
          run(task);
          health.succeeded(Health.Activity.MERGING);
        }
        finished(full);
      } catch (BrokenOff e) {
        finished(0);
      } catch (IOException e) {
        health.failed(Health.Activity.MERGING, e);
        finished(0);
        pause();
      } catch (RuntimeException | Error e) {
        health.failedForGood("merging tables", e);
        finished(0);
      } finally {
        Versions.releaseQuietly(version);
      }
    }
  }

  /** Waits until something is due; false when nothing will be done any more. */
  private boolean awaitWork() {
    lock.lock();
    try {
      while (!closing) {
        if (health.isWritable() && (fullDone < fullRequested || isDue())) {
          busy = true;
          return true;
        }
        changed.awaitUninterruptibly();
      }
      return false;
    } finally {
      lock.unlock();
    }
  }

  private long fullTarget() {
    lock.lock();
    try {
      return fullDone < fullRequested ? fullRequested : 0;
    } finally {
      lock.unlock();
    }
  }

  private void finished(long full) {
    lock.lock();
    try {
      busy = false;
      fullDone = Math.max(fullDone, full);
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  private void pause() {
    lock.lock();
    try {
      if (!closing) {
        changed.await(RETRY_MILLIS, TimeUnit.MILLISECONDS);
      }
    } catch (InterruptedException e) {
      throw new AssertionError("threads of an engine are not interrupted", e);
    } finally {
      lock.unlock();
    }
  }

  private void run(CompactionPicker.Task task) throws IOException {
    long start = System.nanoTime();
    List<Placed> outputs = new ArrayList<>();
    try {
      merge(task, outputs);
      directory.sync();
      versions.publishCompaction(TableSet.tableSet(task.inputs()), outputs);
    } catch (IOException | RuntimeException | Error e) {
      discard(outputs, e);
      throw e;
    }
    compactions.increment();
    bytes.add(outputs.stream().mapToLong(placed -> placed.entry().bytes()).sum());
    nanos.add(System.nanoTime() - start);
    published.run();
  }

  private void merge(CompactionPicker.Task task, List<Placed> outputs) throws IOException {
    List<Cursor> sources = new ArrayList<>();
    for (List<Placed> group : task.newestFirst()) {
      sources.add(new LevelCursor(group.stream().map(Placed::table).toArray(Table[]::new)));
    }
    Cursor cursor = new MergingCursor(sources);
    TableWriter writer = null;
    try {
      int untilCheck = ENTRIES_PER_CHECK;
      for (boolean more = cursor.seek(null); more; more = cursor.next()) {
        if (--untilCheck == 0) {
          untilCheck = ENTRIES_PER_CHECK;
          if (closing) {
            throw new BrokenOff();
          }
        }
        if (task.dropTombstones() && cursor.isTombstone()) {
          continue;
        }
        if (writer != null && writer.bytes() >= options.tableBytes()) {
          TableWriter full = writer;
          writer = null;
          outputs.add(finish(full, task.level()));
        }
        if (writer == null) {
          writer =
              new TableWriter(
                  directory,
                  versions.newFileNumber(),
                  0,
                  options.blockBytes(),
                  options.bloomBitsPerKey());
        }
        Flusher.add(writer, cursor);
      }
      if (writer != null) {
        TableWriter last = writer;
        writer = null;
        outputs.add(finish(last, task.level()));
      }
    } finally {
      if (writer != null) {
        writer.close();
      }
    }
  }

  private Placed finish(TableWriter writer, int level) throws IOException {
    try (writer) {
      writer.finish();
    }
    Table table = Table.open(directory, writer.number());
    return new Placed(new TableEntry(writer.number(), level, 0, table.bytes()), table);
  }

  /**
   * Removes what a merge wrote that was not published. After a failed sync the files stay: the manifest may name them
   * after a restart, which then sorts it out.
   */
  private static void discard(List<Placed> outputs, Throwable reason) {
    for (Placed placed : outputs) {
      try {
        if (!(reason instanceof SyncFailedException)) {
          placed.table().markObsolete();
        }
        placed.table().release();
      } catch (IOException e) {
        reason.addSuppressed(e);
      }
    }
  }

  long compactions() {
    return compactions.sum();
  }

  long bytes() {
    return bytes.sum();
  }

  long nanos() {
    return nanos.sum();
  }

  /** Breaks off what is running. */
  @Override
  public void close() {
    closing = true;
    tablesChanged();
    Threads.join(thread);
  }
}
