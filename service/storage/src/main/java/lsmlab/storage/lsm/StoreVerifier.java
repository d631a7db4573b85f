package lsmlab.storage.lsm;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import lsmlab.storage.CorruptionException;
import lsmlab.storage.file.StoreDirectory;
import lsmlab.storage.manifest.Manifest;
import lsmlab.storage.manifest.TableEntry;
import lsmlab.storage.table.Table;
import lsmlab.storage.version.TableSet;
import lsmlab.storage.wal.WalFormat;
import lsmlab.storage.wal.WalReader;

/** Verifies every checksum of a closed store, and the order of its keys. Changes nothing. */
public final class StoreVerifier {

  /**
   * Describes the files that were checked and found sound.
   *
   * @param entries number of entries in all tables, including tombstones and overwritten pairs
   * @param logs number of logs that the store still needs
   */
  public record Report(int tables, long entries, long tableBytes, int logs, long logBytes) {}

  private StoreVerifier() {}

  /**
   * @param directory directory of a store that is not open; locked during the call
   * @param progress called with a description of each file before it is read
   * @throws CorruptionException at the first fault
   * @throws IOException if the directory cannot be read or holds no store
   */
  public static Report verify(StoreDirectory directory, Consumer<String> progress)
      throws IOException {
    directory.lockForReading();
    List<String> names = directory.list();
    if (!names.contains(Manifest.NAME)) {
      throw new IOException(
          directory.describe("") + " is not a store: it has no file " + Manifest.NAME);
    }
    Manifest manifest = Manifest.read(directory);
    long entries = 0;
    long tableBytes = 0;
    List<TableSet.Placed> opened = new ArrayList<>();
    try {
      for (TableEntry entry : manifest.tables()) {
        progress.accept("table " + entry.number());
        Table table = Recovery.open(directory, entry, names);
        opened.add(new TableSet.Placed(entry, table));
        table.verify();
        entries += table.entries();
        tableBytes += table.bytes();
      }
      // The constructor checks that tables of a level do not overlap.
      TableSet tables = new TableSet(opened);
      assert tables.count() == opened.size();
    } finally {
      for (TableSet.Placed placed : opened) {
        placed.table().release();
      }
    }
    WalChain logs = new WalChain(directory, names, manifest);
    long logBytes = 0;
    for (long log : logs.numbers()) {
      progress.accept("log " + log);
      logBytes += verifyLog(directory, logs, log);
    }
    return new Report(opened.size(), entries, tableBytes, logs.numbers().size(), logBytes);
  }

  private static long verifyLog(StoreDirectory directory, WalChain logs, long log)
      throws IOException {
    WalReader.Result result = WalReader.check(directory, log, logs.expectedLength(log));
    if (logs.isPreviousLost(log) || logs.isEndLost(log, result.length())) {
      throw new CorruptionException(
          "%s at offset %d: a power failure cut off this log or the one before it; opening the store truncates it"
              .formatted(directory.describe(WalFormat.fileName(log)), result.length()));
    }
    return result.length();
  }
}
