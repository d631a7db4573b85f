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
import lsmlab.storage.wal.WalFormat;
import lsmlab.storage.wal.WalReader;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds out what a store holds when it is opened. In this order: the manifest; the tables it names, each checked; files
 * it does not name, removed; the logs from the first one it needs on, each replayed into a memtable of its own, a torn
 * end cut.
 *
 * <p>{@link WalChain} says which logs there must be. A log that is missing or short lost acknowledged writes. Under {@code
 * power}, or if the manifest says what is on the device, that cannot have been a loss of power, so the store is not opened.
 * Otherwise the log is cut and later ones are dropped, so that what is left is what was there at one moment.
 */
final class Recovery implements AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(Recovery.class);

  /** Length from which on the manifest is written anew. */
  private static final long MANIFEST_REWRITE_BYTES = 1 << 20;

  private final StoreDirectory directory;
  private final ChunkPool pool;
  private Manifest manifest;
  private TableSet tables = new TableSet(List.of());
  private final List<Memtable> oldestFirst = new ArrayList<>();
  private WalChain logs;

  /** Logs that were replayed; they are on the device as they are. */
  private final List<LogEntry> replayed = new ArrayList<>();

  private long nextFile;
  private long sequence;
  private boolean manifestTaken;

  Recovery(StoreDirectory directory, ChunkPool pool) {
    this.directory = directory;
    this.pool = pool;
  }

  /**
   * @throws CorruptionException if something acknowledged is missing or damaged; nothing was removed then
   */
  void run() throws IOException {
    manifest = openManifest(directory.list());
    List<String> names = directory.list();
    nextFile = manifest.nextFile();
    for (String name : names) {
      nextFile = Math.max(nextFile, 1 + Math.max(TableFormat.number(name), WalFormat.number(name)));
    }
    for (LogEntry log : manifest.logs()) {
      nextFile = Math.max(nextFile, log.number() + 1);
    }
    logs = new WalChain(directory, names, manifest);
    tables = openTables(names);
    List<String> superfluous = superfluous(names);
    List<Long> dropped = replayLogs();
    forget(dropped);
    dropped.forEach(log -> superfluous.add(WalFormat.fileName(log)));
    for (String name : superfluous) {
      directory.delete(name);
    }
  }

  private Manifest openManifest(List<String> names) throws IOException {
    if (names.contains(Manifest.NAME)) {
      return Manifest.open(directory, MANIFEST_REWRITE_BYTES);
    }
    for (String name : names) {
      if (TableFormat.number(name) >= 0 || WalFormat.number(name) >= 0) {
        throw new CorruptionException(
            directory.describe(Manifest.NAME)
                + " is missing though "
                + name
                + " is there: restore the store from a copy");
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

  /** Opens a table that the manifest names and compares it with what the manifest says. */
  static Table open(StoreDirectory directory, TableEntry entry, List<String> names)
      throws IOException {
    String name = TableFormat.fileName(entry.number());
    if (!names.contains(name)) {
      throw new CorruptionException(
          directory.describe(name)
              + " is missing though the manifest names it: restore the store from a copy");
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

  private List<String> superfluous(List<String> names) throws IOException {
    List<String> superfluous = new ArrayList<>();
    List<Long> named = manifest.tables().stream().map(TableEntry::number).toList();
    for (String name : names) {
      long table = TableFormat.number(name);
      long log = WalFormat.number(name);
      if (table >= 0 && !named.contains(table)) {
        checkIsOrphan(table);
        superfluous.add(name);
      } else if (name.equals(Manifest.TEMPORARY_NAME) || (log >= 0 && log < manifest.firstLog())) {
        superfluous.add(name);
      }
    }
    return superfluous;
  }

  /**
   * A flushed table that is whole but not in the manifest, and whose log is gone although the manifest still needs it:
   * then the manifest has lost its end.
   */
  private void checkIsOrphan(long number) throws IOException {
    long sourceLog;
    try {
      Table table = Table.open(directory, number);
      sourceLog = table.sourceLog();
      table.release();
    } catch (CorruptionException e) {
      LOG.info("an unfinished table is removed: {}", e.getMessage());
      return;
    }
    if (sourceLog >= manifest.firstLog() && !logs.contains(sourceLog)) {
      throw new CorruptionException(
          directory.describe(Manifest.NAME)
              + " does not name table "
              + number
              + " though the log it was made of is gone: its end is missing. Restore the store from"
              + " a copy");
    }
  }

  /**
   * Replays the logs and returns the files of those that were never begun: made ahead, or at the moment of the crash. They
   * hold nothing, and must go: the log that follows gives its predecessor's length, which has to be one that holds something.
   */
  private List<Long> replayLogs() throws IOException {
    List<Long> dropped = new ArrayList<>();
    boolean lost = false;
    for (long log : logs.numbers()) {
      lost |= logs.isPreviousLost(log);
      if (lost) {
        LOG.warn("{} follows a log that was lost with the power: dropped", log);
        dropped.add(log);
        continue;
      }
      WalReader.Result result = replay(log, logs.expectedLength(log));
      lost = logs.isEndLost(log, result.length());
      if (result.length() == 0) {
        dropped.add(log);
        continue;
      }
      settle(log, result);
      assert replayed.isEmpty() || replayed.getLast().number() < log : "logs out of order";
      replayed.add(new LogEntry(log, result.length()));
    }
    return dropped;
  }

  /** Tells the manifest, before they are removed, that these logs need not be there any more. */
  private void forget(List<Long> dropped) throws IOException {
    List<LogEntry> named =
        manifest.logs().stream()
            .filter(log -> dropped.contains(log.number()))
            .map(log -> new LogEntry(log.number(), LogEntry.DROPPED))
            .toList();
    if (!named.isEmpty()) {
      manifest.append(new Edit(nextFile, manifest.firstLog(), List.of(), List.of(), named));
      manifest.noteSynced();
    }
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

  /** Cuts a torn end or room, and makes what was replayed durable: it is relied upon from now on. */
  private void settle(long log, WalReader.Result result) throws IOException {
    String name = WalFormat.fileName(log);
    if (result.isTorn()) {
      LOG.info(
          "{}: {} bytes after the last whole record are cut off: room made ahead, or a torn end",
          directory.describe(name),
          result.fileLength() - result.length());
    }
    try (WritableFile file = directory.openAt(name, result.length())) {
      file.sync();
    }
  }

  /**
   * Makes it durable which logs must be there from now on: the new one, whose name this makes durable too, and those that
   * were replayed. If they hold nothing they are dropped instead.
   *
   * @param length bytes of the new log that are on the device
   * @throws IOException if the manifest cannot be written; it is as before then
   */
  void noteLogs(long newLog, long length) throws IOException {
    directory.sync();
    assert newLog < nextFile && (replayed.isEmpty() || replayed.getLast().number() < newLog);
    boolean needed = !oldestFirst.isEmpty();
    List<LogEntry> all = new ArrayList<>(needed ? replayed : List.of());
    all.add(new LogEntry(newLog, length));
    long firstLog = needed ? manifest.firstLog() : newLog;
    manifest.append(new Edit(nextFile, firstLog, List.of(), List.of(), all));
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

  /** The manifest, which is the caller's to close from now on. */
  Manifest takeManifest() {
    manifestTaken = true;
    return manifest;
  }

  TableSet tables() {
    return tables;
  }

  /** Memtables of the replayed logs that hold something. */
  List<Memtable> oldestFirst() {
    return oldestFirst;
  }

  /** Of the last write replayed. */
  long sequence() {
    return sequence;
  }

  /** The last log there was, with the bytes of it that count; number 0 if there was none. */
  LogEntry lastLog() {
    return replayed.isEmpty() ? new LogEntry(0, 0) : replayed.getLast();
  }

  /** Gives back the references it took; whoever needs its finds takes references of its own. */
  @Override
  public void close() throws IOException {
    tables.releaseTables();
    oldestFirst.forEach(Memtable::release);
    if (manifest != null && !manifestTaken) {
      manifest.close();
    }
  }
}
