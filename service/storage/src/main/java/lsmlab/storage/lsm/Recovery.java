package lsmlab.storage.lsm;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import lsmlab.storage.CorruptionException;
import lsmlab.storage.file.StoreDirectory;
import lsmlab.storage.file.WritableFile;
import lsmlab.storage.manifest.Edit;
import lsmlab.storage.manifest.LogEntry;
import lsmlab.storage.manifest.Manifest;
import lsmlab.storage.manifest.TableEntry;
import lsmlab.storage.memtable.ChunkPool;
import lsmlab.storage.memtable.Memtable;
import lsmlab.storage.table.Table;
import lsmlab.storage.table.TableFormat;
import lsmlab.storage.version.TableSet;
import lsmlab.storage.wal.WalFormat;
import lsmlab.storage.wal.WalReader;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Recovers the content of a store when it is opened. First reads everything: the manifest, the
 * tables that it names, and each log that is still needed, which is replayed into its own memtable.
 * Only then changes files: truncates torn ends, and deletes files that are not needed. So a store
 * that is refused is unchanged.
 *
 * <p>{@link WalChain} knows which logs must exist. If a log is missing or too short, acknowledged
 * writes are lost. Under {@code power}, or if the manifest says that the log was durable, a loss of
 * power cannot be the cause, so the store is not opened. Otherwise the log is truncated and later
 * logs are dropped, so that the store holds what it held at some earlier moment.
 */
final class Recovery implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(Recovery.class);

  /** Length in bytes at which the manifest is rewritten. */
  private static final long MANIFEST_REWRITE_BYTES = 1 << 20;

  private final StoreDirectory directory;
  private final ChunkPool pool;
  private Manifest manifest;
  private TableSet tables = new TableSet(List.of());
  private final List<Memtable> oldestFirst = new ArrayList<>();
  private WalChain logs;

  /** Logs that were replayed, each with its length. */
  private final List<LogEntry> replayed = new ArrayList<>();

  private long nextFile;
  private long sequence;
  private boolean manifestTaken;

  Recovery(StoreDirectory directory, ChunkPool pool) {
    this.directory = directory;
    this.pool = pool;
  }

  /**
   * Recovers the store. Called once.
   *
   * @throws CorruptionException if acknowledged writes are missing or damaged; the store is
   *     unchanged
   */
  void run() throws IOException {
    manifest = openManifest(directory.list());
    List<String> names = directory.list();
    nextFile = manifest.nextFile();
    for (String name : names) {
      nextFile = Math.max(nextFile, 1 + Math.max(TableFormat.number(name), WalFormat.number(name)));
    }
    logs = new WalChain(directory, names, manifest);
    tables = openTables(names);
    List<String> obsolete = obsoleteFiles(names);
    List<Long> dropped = replayLogs();
    // The store is sound. From here on, files are changed.
    manifest.beginAppending();
    for (LogEntry log : replayed) {
      settle(log);
    }
    for (String name : obsolete) {
      directory.delete(name);
    }
    // The replayed logs must stay, even if no new log can be created. And a table must not outlast
    // the log from which it was flushed: a later start would take the manifest for damaged.
    directory.sync();
    for (long log : dropped) {
      directory.delete(WalFormat.fileName(log));
    }
  }

  private Manifest openManifest(List<String> names) throws IOException {
    if (names.contains(Manifest.NAME)) {
      return Manifest.read(directory, MANIFEST_REWRITE_BYTES);
    }
    for (String name : names) {
      if (TableFormat.number(name) >= 0 || WalFormat.number(name) >= 0) {
        throw new CorruptionException(
            directory.describe(Manifest.NAME)
                + " is missing, but "
                + name
                + " exists: restore the store from a copy");
      }
    }
    return Manifest.create(directory, new Edit(1, 1, List.of(), List.of()), MANIFEST_REWRITE_BYTES);
  }

  private TableSet openTables(List<String> names) throws IOException {
    List<TableSet.Placed> placed = new ArrayList<>();
    try {
      for (TableEntry entry : manifest.tables()) {
        placed.add(new TableSet.Placed(entry, open(directory, entry, names)));
      }
      return new TableSet(placed);
    } catch (IOException | RuntimeException e) {
      for (TableSet.Placed each : placed) {
        each.table().release();
      }
      throw e;
    }
  }

  /** Opens a table that the manifest names and checks that it has the length given there. */
  static Table open(StoreDirectory directory, TableEntry entry, List<String> names)
      throws IOException {
    String name = TableFormat.fileName(entry.number());
    if (!names.contains(name)) {
      throw new CorruptionException(
          directory.describe(name)
              + " is missing, but the manifest names it: restore the store from a copy");
    }
    Table table = Table.open(directory, entry.number());
    if (table.bytes() != entry.bytes()) {
      table.release();
      throw new CorruptionException(
          "%s has %d bytes, the manifest says %d: restore the store from a copy"
              .formatted(directory.describe(name), table.bytes(), entry.bytes()));
    }
    return table;
  }

  private List<String> obsoleteFiles(List<String> names) throws IOException {
    List<String> obsolete = new ArrayList<>();
    List<Long> named = manifest.tables().stream().map(TableEntry::number).toList();
    for (String name : names) {
      long table = TableFormat.number(name);
      long log = WalFormat.number(name);
      if (table >= 0 && !named.contains(table)) {
        checkIsOrphan(table);
        obsolete.add(name);
      } else if (name.equals(Manifest.TEMPORARY_NAME) || (log >= 0 && log < manifest.firstLog())) {
        obsolete.add(name);
      }
    }
    return obsolete;
  }

  /**
   * Checks a table that the manifest does not name. If it was flushed from a log that the manifest
   * still needs, and that log is gone, the manifest has lost its last records.
   */
  private void checkIsOrphan(long number) throws IOException {
    long sourceLog;
    try {
      Table table = Table.open(directory, number);
      sourceLog = table.sourceLog();
      table.release();
    } catch (CorruptionException e) {
      LOG.info(
          "{} is deleted: the process ended before the table was finished",
          directory.describe(TableFormat.fileName(number)));
      return;
    }
    if (sourceLog >= manifest.firstLog() && !logs.contains(sourceLog)) {
      throw new CorruptionException(
          directory.describe(Manifest.NAME)
              + " does not name table "
              + number
              + " although the log from which it was flushed is gone: the manifest has lost its last"
              + " records. Restore the store from a copy");
    }
  }

  /**
   * Replays the logs. Returns the numbers of the logs to delete: those that follow a lost log, and
   * those without a first record, which were preallocated or not yet begun at a crash. An empty log
   * must be deleted: the next log records the length of its predecessor, which must not be empty.
   */
  private List<Long> replayLogs() throws IOException {
    List<Long> dropped = new ArrayList<>();
    boolean lost = false;
    for (long log : logs.numbers()) {
      lost |= logs.isPreviousLost(log);
      if (lost) {
        LOG.warn(
            "{} is dropped: it follows a log that was lost in a power failure",
            directory.describe(WalFormat.fileName(log)));
        dropped.add(log);
        continue;
      }
      WalReader.Result result = replay(log, logs.expectedLength(log));
      lost = logs.isEndLost(log, result.length());
      if (result.length() == 0) {
        dropped.add(log);
        continue;
      }
      if (result.isTorn()) {
        LOG.info(
            "{}: {} bytes after the last whole record are removed: preallocated zeros or a torn end",
            directory.describe(WalFormat.fileName(log)),
            result.fileLength() - result.length());
      }
      assert replayed.isEmpty() || replayed.getLast().number() < log : "logs out of order";
      replayed.add(new LogEntry(log, result.length()));
    }
    return dropped;
  }

  private WalReader.Result replay(long log, long expected) throws IOException {
    Memtable memtable = new Memtable(pool, log);
    boolean kept = false;
    try {
      WalReader.Result result =
          WalReader.replay(
              directory,
              log,
              expected,
              (key, value) ->
                  memtable.add(
                      ++sequence, key, 0, key.length, value, 0, value == null ? 0 : value.length));
      kept = memtable.entries() > 0;
      if (kept) {
        oldestFirst.add(memtable);
      }
      return result;
    } finally {
      if (!kept) {
        memtable.release();
      }
    }
  }

  /**
   * Truncates a torn end or preallocated zeros, and syncs the log, because the store relies on its
   * content from now on.
   */
  private void settle(LogEntry log) throws IOException {
    try (WritableFile file = directory.openAt(WalFormat.fileName(log.number()), log.length())) {
      file.sync();
    }
  }

  /**
   * Records in the manifest that the first log of this start and the replayed ones are durable.
   * Makes the names of their files durable. If no replayed log holds writes, deletes them.
   *
   * @param newLog the new log, whose content is durable
   * @throws IOException if the manifest cannot be written; it is then unchanged
   */
  void noteFirstLog(LogEntry newLog) throws IOException {
    directory.sync();
    assert lastLog().number() < newLog.number() && newLog.number() < nextFile : newLog;
    boolean needed = !oldestFirst.isEmpty();
    long firstLog = needed ? manifest.firstLog() : newLog.number();
    manifest.append(new Edit(nextFile, firstLog, List.of(), List.of(), newLog));
    manifest.noteSynced();
    if (!needed) {
      for (LogEntry log : replayed) {
        directory.delete(WalFormat.fileName(log.number()));
      }
    }
  }

  long newFileNumber() {
    return nextFile++;
  }

  long nextFile() {
    return nextFile;
  }

  /** Returns the manifest, which the caller has to close. */
  Manifest takeManifest() {
    manifestTaken = true;
    return manifest;
  }

  TableSet tables() {
    return tables;
  }

  /** Returns the memtables of the replayed logs that hold writes. */
  List<Memtable> oldestFirst() {
    return oldestFirst;
  }

  /** Returns the sequence number of the last replayed write. */
  long sequence() {
    return sequence;
  }

  /** Returns the last replayed log with its length, or {@link LogEntry#NONE}. */
  LogEntry lastLog() {
    return replayed.isEmpty() ? LogEntry.NONE : replayed.getLast();
  }

  /**
   * Releases the references that this object holds. To use the recovered tables and memtables after
   * this call, take references before it.
   */
  @Override
  public void close() throws IOException {
    tables.releaseTables();
    oldestFirst.forEach(Memtable::release);
    if (manifest != null && !manifestTaken) {
      manifest.close();
    }
  }
}
