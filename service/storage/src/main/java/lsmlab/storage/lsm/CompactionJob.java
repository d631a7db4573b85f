package lsmlab.storage.lsm;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BooleanSupplier;
import lsmlab.storage.CorruptionException;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.concurrent.RateLimit;
import lsmlab.storage.cursor.Cursor;
import lsmlab.storage.cursor.MergingCursor;
import lsmlab.storage.file.Bytes;
import lsmlab.storage.file.StoreDirectory;
import lsmlab.storage.file.SyncFailedException;
import lsmlab.storage.manifest.TableEntry;
import lsmlab.storage.stats.LevelTraffic;
import lsmlab.storage.table.LevelCursor;
import lsmlab.storage.table.Table;
import lsmlab.storage.table.TableLayout;
import lsmlab.storage.table.TableWorkspace;
import lsmlab.storage.table.TableWriter;
import lsmlab.storage.version.TableSet;
import lsmlab.storage.version.TableSet.Placed;
import lsmlab.storage.version.VersionSet;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One compaction, published piece by piece; {@link Compactor} explains why that is correct. Runs
 * once, on one thread. It holds a reference to each table that it still reads and none to a
 * version, so a table that it has finished reading can be deleted.
 */
final class CompactionJob {

  /** Thrown to end a compaction early because the store is being closed. */
  static final class BrokenOff extends RuntimeException {
    private static final long serialVersionUID = 1L;
  }

  /** Thrown if a table cannot be read completely. Its inputs are unchanged. */
  static final class DamagedInput extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** The first fault of each damaged input, by number of the table. */
    final transient Map<Long, Throwable> faults;

    DamagedInput(Map<Long, Throwable> faults, Throwable cause) {
      super(cause);
      this.faults = faults;
    }
  }

  private static final Logger LOG = LoggerFactory.getLogger(CompactionJob.class);

  /** Number of pairs between two checks of whether the store is being closed. */
  private static final int ENTRIES_PER_CHECK = 1_024;

  /** Number of bytes written between two calls of the rate limit. */
  private static final long BYTES_PER_PAYMENT = 1 << 20;

  private final StoreDirectory directory;
  private final LsmOptions options;
  private final VersionSet versions;
  private final CompactionPolicy.Task task;
  private final TableWorkspace workspace;
  private final BooleanSupplier closing;
  private final LevelTraffic traffic;
  private final Runnable published;

  /**
   * Inputs from the output level, by key. Those with an index below {@code passed} have been read
   * completely.
   */
  private final List<Placed> below;

  private int passed;

  /** Index of the first table in {@code below} that is still in the current version. */
  private int replaced;

  /** Inputs to which this job holds a reference. */
  private final Set<Table> unread;

  /** Finished tables that are not yet published. */
  private final List<Placed> outputs = new ArrayList<>();

  /** Whether the manifest may already name {@link #outputs}. */
  private boolean publishing;

  private TableWriter writer;
  private final RateLimit rateLimit;

  /** Number of bytes of the unfinished table that have been paid to the rate limit. */
  private long paidBytes;

  /**
   * Takes a reference to each input, which {@link #run} releases.
   *
   * @param workspace memory that nobody else uses until {@link #run} has returned
   * @param closing returns true to end the compaction early
   * @param traffic counts the bytes of published and replaced tables
   * @param published called after each publication
   */
  CompactionJob(
      StoreDirectory directory,
      LsmOptions options,
      VersionSet versions,
      CompactionPolicy.Task task,
      TableWorkspace workspace,
      BooleanSupplier closing,
      LevelTraffic traffic,
      Runnable published) {
    this.directory = directory;
    this.options = options;
    this.versions = versions;
    this.task = task;
    this.workspace = workspace;
    this.closing = closing;
    this.traffic = traffic;
    this.published = published;
    this.rateLimit =
        new RateLimit(options.compactionBytesPerSecondMax(), RateLimit.Clock.SYSTEM, closing);
    this.below =
        task.inputs().stream().filter(placed -> placed.entry().level() == task.level()).toList();
    assert isOrdered(below) : "tables of level " + task.level() + " are not in key order";
    assert task.inputs().stream().allMatch(placed -> placed.entry().level() <= task.level())
        : "a compaction never moves pairs up";
    this.unread = new HashSet<>(TableSet.tableSet(task.inputs()));
    unread.forEach(Table::retain);
  }

  /**
   * Merges all inputs and publishes the outputs.
   *
   * <p>Tables that are already published stay, whatever is thrown.
   *
   * @throws BrokenOff if the store is being closed
   * @throws DamagedInput if an input is damaged
   */
  void run() throws IOException {
    try {
      merge();
      Set<Table> rest = new HashSet<>(TableSet.tableSet(task.inputs()));
      rest.removeAll(TableSet.tableSet(below.subList(0, replaced)));
      publish(rest);
    } catch (IOException | RuntimeException | Error e) {
      discard(e);
      if (!publishing && (e instanceof CorruptionException || e instanceof InternalError)) {
        throwIfInputIsDamaged(e);
      }
      throw e;
    } finally {
      release(Set.copyOf(unread));
    }
  }

  /** Reads all inputs, because an error does not tell how many of them are damaged. */
  private void throwIfInputIsDamaged(Throwable cause) {
    Map<Long, Throwable> faults = new LinkedHashMap<>();
    for (Table table : unread) {
      if (closing.getAsBoolean()) {
        throw new BrokenOff();
      }
      try {
        table.verify();
      } catch (CorruptionException | InternalError e) {
        faults.put(table.number(), e);
      }
    }
    if (!faults.isEmpty()) {
      throw new DamagedInput(faults, cause);
    }
  }

  /** Releases references. A file that cannot be deleted now is deleted at the next start. */
  private void release(Set<Table> tables) {
    for (Table table : tables) {
      unread.remove(table);
      try {
        table.release();
      } catch (IOException e) {
        LOG.warn("a table's file stays until the next start: {}", e.toString());
      }
    }
  }

  private void merge() throws IOException {
    List<Cursor> sources = new ArrayList<>();
    for (List<Placed> group : task.newestFirst()) {
      sources.add(new LevelCursor(group.stream().map(Placed::table).toArray(Table[]::new)));
    }
    Cursor cursor = new MergingCursor(sources, sharedKeyBytes());
    try {
      int untilCheck = ENTRIES_PER_CHECK;
      for (boolean more = cursor.seek(null); more; more = cursor.next()) {
        if (--untilCheck == 0) {
          untilCheck = ENTRIES_PER_CHECK;
          if (closing.getAsBoolean()) {
            throw new BrokenOff();
          }
        }
        if (passed < below.size() && isPast(cursor, below.get(passed).table())) {
          passOver(cursor);
        }
        if (task.dropTombstones() && cursor.isTombstone()) {
          continue;
        }
        if (writer != null && writer.bytes() >= options.tableBytes() * 3 / 2) {
          finishTable();
        } else if (writer != null && writer.bytes() - paidBytes >= BYTES_PER_PAYMENT) {
          pay(writer.bytes());
        }
        if (writer == null) {
          writer =
              new TableWriter(
                  directory, versions.newFileNumber(), 0, TableLayout.of(options), workspace);
        }
        Flusher.add(writer, cursor);
      }
      finishTable();
    } finally {
      if (writer != null) {
        writer.close();
      }
    }
  }

  private static boolean isOrdered(List<Placed> run) {
    for (int i = 1; i < run.size(); i++) {
      byte[] left = run.get(i - 1).table().maxKey();
      if (Arrays.compareUnsigned(left, run.get(i).table().minKey()) >= 0) {
        return false;
      }
    }
    return true;
  }

  /** Returns the length of the prefix that all keys share. */
  private int sharedKeyBytes() {
    byte[] first = null;
    int shared = Integer.MAX_VALUE;
    for (Placed placed : task.inputs()) {
      for (byte[] key : List.of(placed.table().minKey(), placed.table().maxKey())) {
        first = first == null ? key : first;
        int mismatch = Arrays.mismatch(first, key);
        shared = Math.min(shared, mismatch < 0 ? key.length : mismatch);
      }
    }
    return shared;
  }

  CompactionPolicy.Task task() {
    return task;
  }

  /** Returns the total size of the inputs from level 0, in bytes. */
  long level0Bytes() {
    return task.inputs().stream()
        .filter(placed -> placed.entry().level() == 0)
        .mapToLong(placed -> placed.entry().bytes())
        .sum();
  }

  private static boolean isPast(Cursor cursor, Table table) {
    byte[] max = table.maxKey();
    return Bytes.compare(
            max, 0, max.length, cursor.keySegment(), cursor.keyOffset(), cursor.keyLength())
        < 0;
  }

  /**
   * Handles the inputs of the output level that the cursor has passed. Replaces them, unless the
   * output tables would become too small. Ends the current output table if it has at least half of
   * the usual size, or if the passed tables together are as large as two tables of the usual size.
   */
  private void passOver(Cursor cursor) throws IOException {
    do {
      passed++;
    } while (passed < below.size() && isPast(cursor, below.get(passed).table()));
    long waiting =
        below.subList(replaced, passed).stream().mapToLong(placed -> placed.table().bytes()).sum();
    boolean large =
        writer == null
            || writer.bytes() >= options.tableBytes() / 2
            || waiting >= 2 * options.tableBytes();
    assert replaced < passed && passed <= below.size() : replaced + ", " + passed;
    if (large) {
      finishTable();
      Set<Table> left = TableSet.tableSet(below.subList(replaced, passed));
      publish(left);
      replaced = passed;
      release(left);
    }
  }

  private void finishTable() throws IOException {
    if (writer == null) {
      return;
    }
    try (TableWriter full = writer) {
      writer = null;
      full.finish();
      Table table = Table.openNew(directory, full.number());
      outputs.add(new Placed(new TableEntry(full.number(), task.level(), 0, table.bytes()), table));
      assert isOrdered(outputs) : "a compaction writes its tables in key order";
      pay(table.bytes());
      paidBytes = 0;
    }
  }

  /**
   * Pays for the unfinished table up to its size {@code bytes}, and waits until the rate limit
   * allows that.
   */
  private void pay(long bytes) {
    rateLimit.pay(bytes - paidBytes);
    paidBytes = bytes;
  }

  /** Replaces these tables with the finished ones. */
  private void publish(Set<Table> removed) throws IOException {
    if (removed.isEmpty() && outputs.isEmpty()) {
      return;
    }
    publishing = true;
    directory.sync();
    versions.publishCompaction(removed, List.copyOf(outputs));
    outputs.forEach(placed -> traffic.addWritten(task.level(), placed.entry().bytes()));
    for (Placed input : task.inputs()) {
      if (removed.contains(input.table())) {
        traffic.addRead(input.entry().level(), input.entry().bytes());
      }
    }
    outputs.clear();
    publishing = false;
    published.run();
  }

  /**
   * Deletes tables that were not published. If a sync failed during the publication, or if it met
   * an internal error, the files stay, because the manifest may name them; the next start keeps or
   * deletes them.
   */
  private void discard(Throwable reason) {
    boolean unnamed =
        !publishing || (reason instanceof IOException && !(reason instanceof SyncFailedException));
    for (Placed placed : outputs) {
      try {
        if (unnamed) {
          placed.table().markObsolete();
        }
        placed.table().release();
      } catch (IOException e) {
        reason.addSuppressed(e);
      }
    }
  }
}
