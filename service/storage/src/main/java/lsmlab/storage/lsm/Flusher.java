package lsmlab.storage.lsm;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.ReadOnlyException;
import lsmlab.storage.concurrent.Threads;
import lsmlab.storage.cursor.Cursor;
import lsmlab.storage.event.EventLog;
import lsmlab.storage.file.StoreDirectory;
import lsmlab.storage.manifest.TableEntry;
import lsmlab.storage.memtable.Memtable;
import lsmlab.storage.table.Table;
import lsmlab.storage.table.TableLayout;
import lsmlab.storage.table.TableWorkspace;
import lsmlab.storage.table.TableWriter;
import lsmlab.storage.version.TableSet;
import lsmlab.storage.version.VersionSet;

/**
 * Writes sealed memtables to tables of level 0. Several threads may build tables at once, but
 * tables are published in the order in which their memtables were sealed. Readers search memtables
 * before tables, so if a newer memtable became a table first, they would find an older write in a
 * memtable that still waits.
 *
 * <p>A flush that fails for lack of space is retried every second. The memtable and its log stay
 * until then.
 */
final class Flusher implements AutoCloseable {

  /** Receives progress. Called on a flush thread. */
  interface Listener {
    /** Called when a thread takes a memtable to flush; writers are already filling another one. */
    void taken();

    /** Called about every millisecond while a table is built. */
    void building();

    /** Called when a table has been built, with its size and the time that it took. */
    void built(long bytes, long nanos);

    /** Called after tables were published. */
    void published();
  }

  private static final long RETRY_MILLIS = 1_000;

  /** Number of pairs written between two calls of {@link Listener#building}. */
  private static final int ENTRIES_PER_PROGRESS = 1_024;

  private enum State {
    WAITING,
    BUILDING,
    BUILT
  }

  private static final class Job {
    final Memtable memtable;
    State state = State.WAITING;

    /** The thread that took the memtable last. */
    Thread builder;

    TableSet.Placed built;

    Job(Memtable memtable) {
      this.memtable = memtable;
    }
  }

  private final StoreDirectory directory;
  private final LsmOptions options;
  private final VersionSet versions;
  private final Health health;
  private final Listener listener;

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();

  // Guarded by lock.
  private final ArrayDeque<Job> oldestFirst = new ArrayDeque<>();
  private boolean publishing;
  private boolean closing;

  private final List<Thread> threads = new ArrayList<>();
  private final LongAdder flushes = new LongAdder();
  private final LongAdder flushBytes = new LongAdder();
  private final LongAdder flushNanos = new LongAdder();

  Flusher(
      StoreDirectory directory,
      LsmOptions options,
      VersionSet versions,
      Health health,
      Listener listener) {
    this.directory = directory;
    this.options = options;
    this.versions = versions;
    this.health = health;
    this.listener = listener;
    for (int i = 0; i < options.flushThreads(); i++) {
      threads.add(Threads.background("lsmlab-flush-" + i, this::work));
    }
  }

  void start() {
    threads.forEach(Thread::start);
  }

  /** Adds a sealed memtable. Called in the order of sealing. */
  void add(Memtable memtable) {
    lock.lock();
    try {
      assert oldestFirst.isEmpty()
              || oldestFirst.getLast().memtable.logNumber() < memtable.logNumber()
          : "memtables must be handed over in the order of sealing";
      oldestFirst.addLast(new Job(memtable));
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  private void work() {
    TableWorkspace workspace = new TableWorkspace();
    while (true) {
      Job job = take();
      if (job == null) {
        return;
      }
      try {
        listener.taken();
        build(job, workspace);
        publish();
      } catch (IOException e) {
        health.failed(Health.Activity.FLUSHING, e);
        giveBack(job);
      } catch (RuntimeException | Error e) {
        health.failedForGood("flushing a memtable", e);
        giveBack(job);
      }
    }
  }

  /** Waits for a memtable to flush. Returns null once the flusher is closing. */
  private Job take() {
    lock.lock();
    try {
      while (!closing) {
        if (health.isWritable()) {
          for (Job job : oldestFirst) {
            if (job.state == State.WAITING) {
              job.state = State.BUILDING;
              job.builder = Thread.currentThread();
              return job;
            }
          }
        }
        changed.awaitUninterruptibly();
      }
      return null;
    } finally {
      lock.unlock();
    }
  }

  private void build(Job job, TableWorkspace workspace) throws IOException {
    if (job.built == null) {
      long start = System.nanoTime();
      job.built = write(job.memtable, workspace);
      flushes.increment();
      flushBytes.add(job.built.entry().bytes());
      long nanos = System.nanoTime() - start;
      flushNanos.add(nanos);
      listener.built(job.built.entry().bytes(), nanos);
      EventLog.flush(nanos, job.memtable.bytes(), job.built.entry().bytes());
      // Before others can see that there is room again: a caller that then waits for a flush must
      // not get a failure that is over.
      health.succeeded(Health.Activity.FLUSHING);
    }
    lock.lock();
    try {
      assert job.state == State.BUILDING : job.state;
      assert job.built.entry().order() == job.memtable.logNumber();
      job.state = State.BUILT;
    } finally {
      lock.unlock();
    }
  }

  private TableSet.Placed write(Memtable memtable, TableWorkspace workspace) throws IOException {
    long number = versions.newFileNumber();
    // The log's name must be durable before its table exists. At the next start, a table that the
    // manifest does not name is deleted if its log is there; if not, it proves that a manifest
    // record was lost.
    directory.sync();
    try (TableWriter writer =
        new TableWriter(
            directory, number, memtable.logNumber(), TableLayout.of(options), workspace)) {
      Cursor cursor = memtable.cursor(Long.MAX_VALUE);
      int untilProgress = ENTRIES_PER_PROGRESS;
      for (boolean more = cursor.seek(null); more; more = cursor.next()) {
        if (--untilProgress == 0) {
          untilProgress = ENTRIES_PER_PROGRESS;
          listener.building();
        }
        add(writer, cursor);
      }
      writer.finish();
    }
    directory.sync();
    Table table = Table.openNew(directory, number);
    return new TableSet.Placed(
        new TableEntry(number, 0, memtable.logNumber(), table.bytes()), table);
  }

  static void add(TableWriter writer, Cursor cursor) throws IOException {
    if (cursor.isTombstone()) {
      writer.addTombstone(cursor.keySegment(), cursor.keyOffset(), cursor.keyLength());
    } else {
      writer.add(
          cursor.keySegment(),
          cursor.keyOffset(),
          cursor.keyLength(),
          cursor.valueSegment(),
          cursor.valueOffset(),
          cursor.valueLength());
    }
  }

  /**
   * Publishes built tables, oldest first. Returns at once if another thread is already publishing;
   * that thread then publishes these tables too.
   */
  private void publish() throws IOException {
    while (true) {
      List<Job> ready = new ArrayList<>();
      lock.lock();
      try {
        if (publishing) {
          return;
        }
        for (Job job : oldestFirst) {
          if (job.state != State.BUILT) {
            break;
          }
          ready.add(job);
        }
        if (ready.isEmpty()) {
          return;
        }
        publishing = true;
      } finally {
        lock.unlock();
      }
      boolean done = false;
      try {
        versions.publishFlush(
            ready.stream().map(job -> job.memtable).toList(),
            ready.stream().map(job -> job.built).toList());
        health.succeeded(Health.Activity.FLUSHING);
        done = true;
      } finally {
        lock.lock();
        try {
          publishing = false;
          for (Job job : ready) {
            assert job.state == State.BUILT : job.state;
            if (done) {
              Job published = oldestFirst.removeFirst();
              assert published == job : "tables must be published oldest first";
            } else {
              job.state = State.WAITING;
            }
          }
          changed.signalAll();
        } finally {
          lock.unlock();
        }
      }
      listener.published();
    }
  }

  /** Waits a second after a failure, then makes the memtable available for another attempt. */
  private void giveBack(Job job) {
    lock.lock();
    try {
      changed.signalAll();
      if (!closing) {
        changed.await(RETRY_MILLIS, TimeUnit.MILLISECONDS);
      }
      // If publishing failed, another thread may have taken the memtable meanwhile.
      if (job.state == State.BUILDING && job.builder == Thread.currentThread()) {
        job.state = State.WAITING;
      }
      changed.signalAll();
    } catch (InterruptedException e) {
      throw new AssertionError("threads of an engine are not interrupted", e);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Waits until all memtables up to the one of this log are in tables.
   *
   * @throws ReadOnlyException if flushing fails
   * @throws IllegalStateException if the store is closed during the wait
   */
  void awaitFlushed(long logNumber) {
    long failuresBefore = health.failures(Health.Activity.FLUSHING);
    lock.lock();
    try {
      changed.signalAll(); // retry a failed flush at once
      while (hasJobUpTo(logNumber)) {
        health.checkNotFailing(Health.Activity.FLUSHING, failuresBefore);
        if (closing) {
          throw new IllegalStateException("the store is being closed");
        }
        changed.await(100, TimeUnit.MILLISECONDS);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while waiting for a flush", e);
    } finally {
      lock.unlock();
    }
  }

  /** Whether a memtable waits or is being built or published. */
  boolean isBusy() {
    lock.lock();
    try {
      return !oldestFirst.isEmpty();
    } finally {
      lock.unlock();
    }
  }

  private boolean hasJobUpTo(long logNumber) {
    Iterator<Job> jobs = oldestFirst.iterator();
    return jobs.hasNext() && jobs.next().memtable.logNumber() <= logNumber;
  }

  long flushes() {
    return flushes.sum();
  }

  long flushBytes() {
    return flushBytes.sum();
  }

  long flushNanos() {
    return flushNanos.sum();
  }

  /** Finishes tables that are being built. Memtables that still wait stay in their logs. */
  @Override
  public void close() throws IOException {
    lock.lock();
    try {
      closing = true;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
    threads.forEach(Threads::join);
    IOException failure = null;
    for (Job job : oldestFirst) {
      if (job.built != null) {
        // Built but not published, so the log still holds it. After a failed sync the manifest may
        // name it, so it stays.
        if (health.isWritable()) {
          job.built.table().markObsolete();
        }
        try {
          job.built.table().release();
        } catch (IOException e) {
          failure = e;
        }
      }
    }
    if (failure != null) {
      throw failure;
    }
  }
}
