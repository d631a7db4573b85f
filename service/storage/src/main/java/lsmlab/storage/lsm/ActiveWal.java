package lsmlab.storage.lsm;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.List;
import lsmlab.storage.file.SyncFailedException;
import lsmlab.storage.manifest.LogEntry;
import lsmlab.storage.wal.WalWriter;

/**
 * The log that takes writes, and the lengths of the logs before it. Appends a group of writes,
 * rolls back a group that failed, and switches to the next log when the memtable is sealed. Only
 * the leader of the {@link CommitPipeline} may use it, except for {@link #bytes} and {@link
 * #syncs}, which any thread may call.
 */
final class ActiveWal {

  /**
   * Maximum length of {@link #sealed}: more than the number of memtables that can wait for a flush.
   */
  private static final int SEALED_MAX = 2048;

  private final WalLifecycle logs;
  private final WalPreallocator preallocator;
  private final Health health;

  /** The last log that existed when the store was opened. */
  private final LogEntry recovered;

  /** Logs sealed since the store was opened, oldest first, including those no longer needed. */
  private final ArrayDeque<LogEntry> sealed = new ArrayDeque<>();

  // Changed by the leader only.
  private volatile WalWriter log;
  private volatile long bytesBefore;
  private volatile long syncsBefore;

  /**
   * @param log log of the active memtable; null if it could not be created, in which case each
   *     write tries again
   * @param recovered the last log that existed when the store was opened
   */
  ActiveWal(
      WalLifecycle logs,
      WalPreallocator preallocator,
      Health health,
      WalWriter log,
      LogEntry recovered) {
    this.logs = logs;
    this.preallocator = preallocator;
    this.health = health;
    this.log = log;
    this.recovered = recovered;
  }

  /**
   * Begins the first log, if that failed when the store was opened. Records success and failure in
   * {@code health}.
   *
   * @param number number of the active memtable's log
   */
  void beginIfMissing(long number) throws IOException {
    if (log != null) {
      return;
    }
    try {
      log = logs.begin(number, recovered);
      health.succeeded(Health.Activity.MAKING_LOG);
    } catch (IOException e) {
      health.failed(Health.Activity.MAKING_LOG, e);
      throw e;
    }
  }

  /**
   * Appends the writes from {@code first} up to but not including {@code end}, and syncs them under
   * {@code power}. If that fails, rolls all of them back and records the failure in {@code health}.
   */
  void append(Write first, Write end) throws IOException {
    WalWriter current = log;
    final long lengthBefore = current.length();
    try {
      for (Write write = first; write != end; write = write.next) {
        write.writeTo(current);
      }
      current.commit();
    } catch (IOException e) {
      health.failed(Health.Activity.WRITING_LOG, e);
      if (!(e instanceof SyncFailedException)) {
        takeBack(current, e);
      }
      throw e;
    }
    health.succeeded(Health.Activity.WRITING_LOG);
    assert current.length() > lengthBefore;
  }

  private void takeBack(WalWriter current, IOException cause) {
    try {
      current.rollback();
    } catch (IOException e) {
      e.addSuppressed(cause);
      health.failedForGood("truncating the WAL", e);
    }
  }

  /**
   * Begins the next log, which takes writes from now on. If that fails, the current log continues
   * to take writes.
   *
   * @return the log before it, which the caller closes
   */
  WalWriter change() throws IOException {
    WalWriter ended = log;
    LogEntry entry = new LogEntry(ended.number(), ended.certainLength());
    WalWriter next = logs.begin(preallocator.take(), entry);
    if (sealed.size() == SEALED_MAX) {
      sealed.removeFirst();
    }
    sealed.add(entry);
    bytesBefore += ended.length();
    syncsBefore += ended.syncs();
    log = next;
    health.succeeded(Health.Activity.MAKING_LOG);
    return ended;
  }

  /** Returns the number of the log that takes writes. */
  long number() {
    return log.number();
  }

  /** Returns the bytes written to all logs since the store was opened. */
  long bytes() {
    WalWriter current = log;
    return bytesBefore + (current == null ? 0 : current.length());
  }

  /** Returns the number of syncs of all logs since the store was opened. */
  long syncs() {
    WalWriter current = log;
    return syncsBefore + (current == null ? 0 : current.syncs());
  }

  /**
   * Makes the log durable, appends a record that says so, and closes it. No write may follow.
   *
   * @return the logs written since the store was opened, oldest first; empty if the store takes no
   *     writes
   */
  List<LogEntry> close() throws IOException {
    if (log == null) {
      return List.of();
    }
    try (WalWriter last = log) {
      if (!health.isWritable()) {
        return List.of();
      }
      last.finish();
      assert last.synced() == last.length() : "the closed log is not durable";
      sealed.add(new LogEntry(last.number(), last.length()));
      return List.copyOf(sealed);
    }
  }
}
