package lsmlab.storage.lsm;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import lsmlab.storage.Durability;
import lsmlab.storage.ReadOnlyException;
import lsmlab.storage.file.SyncFailedException;
import lsmlab.storage.manifest.LogEntry;
import lsmlab.storage.memtable.Memtable;
import lsmlab.storage.wal.WalWriter;

/**
 * Brings writes into the WAL and the memtable, many at once where many come at once.
 *
 * <p>Protocol (flat combining): a writer puts its {@link Write} on a list and tries to become the leader. The leader
 * takes the whole list and commits it in order: all records to the WAL in one write, one sync if the promise is {@code
 * power}, then each into the memtable, then the sequence number up to which everything is visible. Then it gives up the
 * lead, and only then wakes whom it served, so that the next group is already on its way to the device meanwhile. A
 * writer that finds the lead taken spins shortly, then sleeps until it is served or nudged to lead.
 *
 * <p>Under {@code power} a leader first waits shortly for the writers that were woken last, see {@link #awaitGroup}.
 *
 * <p>No write is lost between the list and the leader: a leader looks at the list again after it gave up the lead, and
 * nudges a writer it finds there; a writer sleeps only after it put its write on the list and then found the lead taken.
 *
 * <p>A thread may hand over several writes in one go. They stand on the list as a run, oldest first, so they are committed in
 * their order; the thread waits for the last of them, by which time all of them are finished.
 *
 * <p>Leading means holding {@code busy}; it guards the WAL, the sequence number and writing to the memtable. Source:
 * Hendler, Incze, Shavit, Tzafrir, "Flat Combining and the Synchronization-Parallelism Tradeoff" (2010).
 */
final class CommitPipeline {

  /** What the pipeline needs of its neighbours. */
  interface Memtables {
    /** The memtable that takes writes. */
    Memtable active();

    /** Whether the active memtable should be sealed and may be. */
    boolean isSealDue();

    /**
     * Seals the active memtable.
     *
     * @param log the new memtable's
     */
    void seal(WalWriter log);

    /** The log of the active memtable, if it could not be made when the store was opened. */
    WalWriter firstLog() throws IOException;

    /** A new log that follows this one. */
    WalWriter newLog(WalWriter previous) throws IOException;
  }

  private static final long GROUP_WAIT_NANOS_MAX = 1_000_000;

  /** More than memtables can wait for a flush. */
  private static final int SEALED_LOGS_MAX = 2048;

  private static final int SPINS = Runtime.getRuntime().availableProcessors() > 1 ? 100 : 0;

  private final Memtables memtables;
  private final Health health;
  private final boolean power;
  private final PendingWrites pending = new PendingWrites();
  private final AtomicInteger busy = new AtomicInteger();

  // Guarded by busy.
  private WalWriter log;

  /** Logs sealed since the store was opened, oldest first, also those that are no longer needed. */
  private final ArrayDeque<LogEntry> sealedLogs = new ArrayDeque<>();

  private long sequence;

  /** Threads, not writes. */
  private int servedLast;

  /** What writing a group to the log has taken lately. */
  private long syncNanos;

  private volatile long visible;

  /** No write with a greater number is in a memtable; a look-up may already have shown one that is. */
  private volatile long announced;

  /** Keys and values of all writes. */
  private volatile long acceptedBytes;

  private volatile long logBytesBefore;
  private volatile long logSyncsBefore;

  /**
   * @param log of the active memtable; null if it could not be made, which is then tried with each write
   * @param sequence of the last write there is
   */
  CommitPipeline(
      Memtables memtables, Health health, Durability durability, WalWriter log, long sequence) {
    this.memtables = memtables;
    this.health = health;
    this.power = durability == Durability.POWER;
    this.log = log;
    this.sequence = sequence;
    this.visible = sequence;
    this.announced = sequence;
  }

  /**
   * Everything up to this sequence number is in the memtables, every write among it that a look-up which has ended can have
   * shown: a look-up sees a write as soon as it is in the memtable, a moment before its group is visible. Waits for that
   * moment.
   */
  long visible() {
    long shown = announced;
    for (int spins = 0; visible < Math.min(shown, announced); spins++) {
      if (spins < SPINS) {
        Thread.onSpinWait();
      } else {
        Thread.yield();
      }
    }
    return visible;
  }

  /** Commits the write and returns, or throws why it was not committed. */
  void submit(Write write) {
    pending.push(write, write);
    await(write);
    if (write.failure() != null) {
      throw write.failure();
    }
  }

  /**
   * Commits the first so many writes in their order and returns when all are finished; each says itself whether it failed.
   *
   * @param writes of this thread
   * @param count none is allowed too
   */
  void submit(Write[] writes, int count) {
    if (count == 0) {
      return;
    }
    for (int i = 0; i < count; i++) {
      writes[i].awaited = i == count - 1;
      if (i > 0) {
        writes[i].next = writes[i - 1];
      }
    }
    pending.push(writes[0], writes[count - 1]);
    await(writes[count - 1]);
  }

  /** Returns when the write is finished, which this thread may have to do itself. */
  private void await(Write write) {
    // An interrupt must not close the log's channel, nor turn sleeping into spinning: it waits
    // until the write is over.
    boolean interrupted = Thread.interrupted();
    int spins = power ? 0 : SPINS;
    while (!write.isDone()) {
      if (busy.get() == 0 && busy.compareAndSet(0, 1)) {
        lead();
      } else if (spins > 0) {
        spins--;
        Thread.onSpinWait();
      } else {
        write.park();
        interrupted |= Thread.interrupted();
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private void lead() {
    List<Write> sleeping = null;
    try {
      if (power) {
        awaitGroup();
      }
      int served = 0;
      Write oldest = pending.takeAll();
      while (oldest != null) {
        Write end = PendingWrites.groupEnd(oldest);
        RuntimeException failure = commit(oldest, end);
        for (Write write = oldest; write != end; ) {
          // Read before it is finished: then it is its owner's again, who may use it anew.
          Write next = write.next;
          served += write.awaited ? 1 : 0;
          if (write.finish(failure)) {
            if (sleeping == null) {
              sleeping = new ArrayList<>();
            }
            sleeping.add(write);
          }
          write = next;
        }
        oldest = end;
      }
      servedLast = served;
    } finally {
      busy.set(0);
      pending.nudge();
      if (sleeping != null) {
        sleeping.forEach(Write::nudge);
      }
    }
  }

  /**
   * Waits a moment for as many writers as were served last time: they have just been woken, and those that come
   * after the list is taken wait for the whole of this sync and of the next. Without it groups are small and large in
   * turn; with it 64 writers share nearly every sync. At most half a sync's time, so that it costs little where writers
   * stay away, and nothing where there is one.
   */
  private void awaitGroup() {
    long start = System.nanoTime();
    long limit = Math.min(GROUP_WAIT_NANOS_MAX, syncNanos / 2);
    while (pending.awaited() < servedLast && System.nanoTime() - start < limit) {
      Thread.yield();
    }
  }

  private RuntimeException commit(Write first, Write end) {
    try {
      health.checkWritable();
      if (first.isSeal()) {
        if (memtables.active().entries() > 0) {
          seal();
        }
        return null;
      }
      if (log == null) {
        beginFirstLog();
      }
      long start = power ? System.nanoTime() : 0;
      writeLog(first, end);
      if (power) {
        syncNanos += (System.nanoTime() - start - syncNanos) / 4;
      }
      Memtable memtable = memtables.active();
      announced = sequence + PendingWrites.count(first, end);
      long bytes = 0;
      for (Write write = first; write != end; write = write.next) {
        bytes += write.keyLength + write.valueLength;
        memtable.add(
            ++sequence,
            write.key,
            write.keyOffset,
            write.keyLength,
            write.value,
            write.valueOffset,
            write.valueLength);
      }
      visible = sequence;
      acceptedBytes = acceptedBytes + bytes;
    } catch (ReadOnlyException e) {
      return e;
    } catch (IOException e) {
      return Health.readOnly(e);
    } catch (RuntimeException | Error e) {
      // The WAL and the memtable may disagree now. Nothing more becomes visible: nobody is to wait
      // for it.
      announced = visible;
      health.failedForGood("a write", e);
      return Health.readOnly(e);
    }
    if (memtables.isSealDue()) {
      try {
        seal();
      } catch (IOException e) {
        // The group is written; the memtable goes on growing until a log can be made or writes are
        // held back.
      } catch (RuntimeException | Error e) {
        health.failedForGood("sealing a memtable", e);
      }
    }
    return null;
  }

  private void beginFirstLog() throws IOException {
    try {
      log = memtables.firstLog();
      health.succeeded(Health.Activity.MAKING_LOG);
    } catch (IOException e) {
      health.failed(Health.Activity.MAKING_LOG, e);
      throw e;
    }
  }

  private void writeLog(Write first, Write end) throws IOException {
    final long lengthBefore = log.length();
    try {
      for (Write write = first; write != end; write = write.next) {
        write.writeTo(log);
      }
      log.commit();
    } catch (IOException e) {
      health.failed(Health.Activity.WRITING_LOG, e);
      if (!(e instanceof SyncFailedException)) {
        takeBack(e);
      }
      throw e;
    }
    health.succeeded(Health.Activity.WRITING_LOG);
    assert log.length() > lengthBefore;
  }

  private void takeBack(IOException cause) {
    assert busy.get() == 1 : "only the leader writes to the log";
    try {
      log.rollback();
    } catch (IOException e) {
      e.addSuppressed(cause);
      health.failedForGood("cutting the WAL back", e);
    }
  }

  /** Seals the memtable; that it failed is recorded, whoever asked for it. */
  private void seal() throws IOException {
    try {
      changeLog();
    } catch (IOException e) {
      health.failed(Health.Activity.MAKING_LOG, e);
      throw e;
    }
  }

  private void changeLog() throws IOException {
    assert busy.get() == 1 : "only the leader changes the log";
    WalWriter next = memtables.newLog(log);
    WalWriter previous = log;
    assert next.number() > previous.number() : next.number() + " follows " + previous.number();
    assert memtables.active().logNumber() == previous.number() : "a log belongs to one memtable";
    if (sealedLogs.size() == SEALED_LOGS_MAX) {
      sealedLogs.removeFirst();
    }
    sealedLogs.add(new LogEntry(previous.number(), previous.certainLength()));
    logBytesBefore += previous.length();
    logSyncsBefore += previous.syncs();
    log = next;
    health.succeeded(Health.Activity.MAKING_LOG);
    memtables.seal(next);
    previous.close();
  }

  /** Bytes of the keys and values that were committed. */
  long acceptedBytes() {
    return acceptedBytes;
  }

  /** Bytes written to logs. */
  long logBytes() {
    WalWriter current = log;
    return logBytesBefore + (current == null ? 0 : current.length());
  }

  long logSyncs() {
    WalWriter current = log;
    return logSyncsBefore + (current == null ? 0 : current.syncs());
  }

  /**
   * Makes the log durable and closes it, with a last record that says so. No write may follow.
   *
   * @return the logs written since the store was opened, oldest first; none if it takes no writes any more
   */
  List<LogEntry> close() throws IOException {
    if (log == null) {
      return List.of();
    }
    try {
      if (!health.isWritable()) {
        return List.of();
      }
      log.finish();
      assert log.synced() == log.length() : "the closed log is not durable";
      sealedLogs.add(new LogEntry(log.number(), log.length()));
      return List.copyOf(sealedLogs);
    } finally {
      log.close();
    }
  }
}
