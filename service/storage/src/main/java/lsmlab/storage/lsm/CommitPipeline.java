package lsmlab.storage.lsm;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import lsmlab.storage.Durability;
import lsmlab.storage.ReadOnlyException;
import lsmlab.storage.memtable.Memtable;
import lsmlab.storage.wal.WalWriter;

/**
 * Writes to the WAL and to the memtable. Concurrent writes are committed as one group.
 *
 * <p>Protocol (flat combining): a writer pushes its {@link Write} onto a list and tries to become
 * the leader. The leader takes the whole list and commits it in order. It writes all records to the
 * WAL at once, syncs once under {@code power}, adds each write to the memtable, and publishes the
 * sequence number up to which all writes are visible. It gives up the lead before it wakes the
 * writers that it served, so that the next group can already be written meanwhile. A writer that
 * finds another leader spins briefly, then sleeps until it is served or woken to lead.
 *
 * <p>Under {@code power} a leader first waits briefly for the writers that were woken last, see
 * {@link #awaitGroup}.
 *
 * <p>No write is left behind on the list. After giving up the lead, a leader looks at the list
 * again and wakes a writer that it finds there. A writer sleeps only if it found another leader
 * after it had pushed its write.
 *
 * <p>A thread may push several writes at once. They stay together and in order on the list, so the
 * thread only waits for the last one.
 *
 * <p>The leader holds {@code busy}, which guards the {@link ActiveWal}, the sequence number and
 * writes to the memtable. Source: Hendler, Incze, Shavit, Tzafrir, "Flat Combining and the
 * Synchronization-Parallelism Tradeoff" (2010).
 */
final class CommitPipeline {

  /** The parts of the engine that the pipeline needs. */
  interface Memtables {
    /** Returns the memtable that takes writes. */
    Memtable active();

    /** Whether the active memtable is full and may be sealed. */
    boolean isSealDue();

    /**
     * Seals the active memtable.
     *
     * @param logNumber number of the log of the next memtable
     */
    void seal(long logNumber);
  }

  private static final long GROUP_WAIT_NANOS_MAX = 1_000_000;

  /**
   * Number of times that a writer checks whether it has been served or may lead before it sleeps.
   * The checks take about 20 µs, as long as sleeping and being woken. So a writer never waits more
   * than about twice as long as it would have if it had known in advance whether to sleep. Source:
   * Karlin, Li, Manasse, Owicki, "Empirical Studies of Competitive Spinning for a Shared-Memory
   * Multiprocessor" (1991).
   */
  private static final int SPINS = Runtime.getRuntime().availableProcessors() > 1 ? 1_000 : 0;

  /** Made in advance, because there may be no memory when it is needed. */
  private static final ReadOnlyException ABANDONED =
      new ReadOnlyException(
          "the store accepts no writes: an earlier write met an internal error; restart the"
              + " service",
          null);

  private final Memtables memtables;
  private final ActiveWal wal;
  private final Health health;
  private final boolean power;

  /** Whether writes go to the WAL. Without it the logs are empty, but begun and dropped as usual. */
  private final boolean logged;

  private final PendingWrites pending = new PendingWrites();
  private final AtomicInteger busy = new AtomicInteger();

  // Guarded by busy, as is the WAL.
  private long sequence;

  /** Number of threads that the last group served, not of its writes. */
  private int servedLast;

  /** Moving average of the time that it takes to write and sync a group. */
  private long syncNanos;

  private volatile long visible;

  /**
   * Upper bound of the sequence numbers in the memtables. A lookup may already have returned a
   * write up to this number.
   */
  private volatile long announced;

  /** Total size of the keys and values of all committed writes, in bytes. */
  private volatile long acceptedBytes;

  /**
   * @param sequence sequence number of the last write so far
   */
  CommitPipeline(
      Memtables memtables, ActiveWal wal, Health health, Durability durability, long sequence) {
    this.memtables = memtables;
    this.wal = wal;
    this.health = health;
    this.power = durability == Durability.POWER;
    this.logged = durability != Durability.NONE;
    this.sequence = sequence;
    this.visible = sequence;
    this.announced = sequence;
  }

  /**
   * Returns a sequence number up to which all writes are in the memtables. These include each write
   * that a finished lookup may have returned. A lookup sees a write as soon as it is in the
   * memtable, shortly before its group becomes visible; this method waits for that.
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

  /** Commits the write, or throws the reason why it was not committed. */
  void submit(Write write) {
    pending.push(write, write);
    await(write);
    if (write.failure() != null) {
      throw write.failure();
    }
  }

  /**
   * Commits the first {@code count} writes in order. Returns when all are finished; {@link
   * Write#failure} says whether a write failed.
   *
   * @param writes writes that belong to the calling thread
   * @param count 0 or more
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

  /** Returns when the write is finished. The calling thread may become the leader meanwhile. */
  private void await(Write write) {
    // An interrupt must neither close the log's channel nor keep this thread from sleeping, so it
    // is kept until the write is finished.
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
    Write oldest = null;
    try {
      if (power) {
        awaitGroup();
      }
      int served = 0;
      oldest = pending.takeAll();
      while (oldest != null) {
        Write end = PendingWrites.groupEnd(oldest);
        RuntimeException failure = commit(oldest, end);
        while (oldest != end) {
          Write write = oldest;
          // Read before finish(), after which the owner may reuse the write.
          oldest = write.next;
          served += write.awaited ? 1 : 0;
          if (write.finish(failure)) {
            sleeping = with(write, sleeping);
          }
        }
      }
      servedLast = served;
    } catch (RuntimeException | Error e) {
      health.failedForGood("committing writes", e);
      throw e;
    } finally {
      abandon(oldest);
      busy.set(0);
      pending.nudge();
      if (sleeping != null) {
        sleeping.forEach(Write::nudge);
      }
    }
  }

  private static List<Write> with(Write write, List<Write> sleeping) {
    try {
      List<Write> all = sleeping == null ? new ArrayList<>() : sleeping;
      all.add(write);
      return all;
    } catch (OutOfMemoryError e) {
      write.nudge(); // Wakes it now, because it would sleep for ever.
      return sleeping;
    }
  }

  /**
   * Fails the writes that the leader took and has not finished. There are none unless it met an
   * error. Their owners would sleep for ever.
   */
  private void abandon(Write oldest) {
    while (oldest != null) {
      Write write = oldest;
      oldest = write.next;
      if (write.finish(ABANDONED)) {
        write.nudge();
      }
    }
  }

  /**
   * Waits briefly until as many writers are waiting as the last group served. The writers of that
   * group have just been woken. A writer that arrives after the leader has taken the list waits for
   * two syncs, this one and the next. Without the wait, small and large groups alternate; with it,
   * 64 writers share nearly every sync. The wait takes at most half the time of a sync. A lone
   * writer does not wait.
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
      assert busy.get() == 1 : "only the leader writes to the log";
      health.checkWritable();
      if (first.isSeal()) {
        if (memtables.active().entries() > 0) {
          seal();
        }
        return null;
      }
      wal.beginIfMissing(memtables.active().logNumber());
      long start = power ? System.nanoTime() : 0;
      if (logged) {
        wal.append(first, end);
      }
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
      // The WAL and the memtable may disagree now. Nothing more becomes visible, so nobody may wait
      // for it.
      announced = visible;
      health.failedForGood("a write", e);
      return Health.readOnly(e);
    }
    if (memtables.isSealDue()) {
      try {
        seal();
      } catch (IOException e) {
        // The group is written. The memtable keeps growing until a log can be made or writes are
        // refused.
      } catch (RuntimeException | Error e) {
        health.failedForGood("sealing a memtable", e);
      }
    }
    return null;
  }

  /** Seals the memtable. Records a failure in {@code health}. */
  private void seal() throws IOException {
    assert memtables.active().logNumber() == wal.number() : "a log belongs to one memtable";
    try {
      WalWriter ended = wal.change();
      memtables.seal(wal.number());
      ended.close();
    } catch (IOException e) {
      health.failed(Health.Activity.MAKING_LOG, e);
      throw e;
    }
  }

  /** Returns the total size of the keys and values of all committed writes, in bytes. */
  long acceptedBytes() {
    return acceptedBytes;
  }
}
