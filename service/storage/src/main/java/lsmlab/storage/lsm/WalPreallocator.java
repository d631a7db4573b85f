package lsmlab.storage.lsm;

import java.io.IOException;
import lsmlab.storage.file.StoreDirectory;
import lsmlab.storage.file.WritableFile;
import lsmlab.storage.version.VersionSet;
import lsmlab.storage.wal.WalFormat;

/**
 * Creates the file of the next log in advance, on a flush thread. While tables are being synced,
 * creating a file can wait tens of milliseconds for the file system's journal, and every write
 * would wait with it.
 *
 * <p>Several memtables can be sealed during one flush, so a flush thread calls {@link #prepare}
 * repeatedly while it builds a table.
 *
 * <p>An unused file is empty. It is deleted when the store is closed. After a crash it is a log
 * without a first record, which the next start deletes. Thread-safe.
 */
final class WalPreallocator implements AutoCloseable {

  /** The empty file of a log. */
  record Prepared(long number, WritableFile file) {}

  private final StoreDirectory directory;
  private final VersionSet versions;
  private volatile Prepared prepared; // Changed under this object's lock.
  private boolean closed;

  WalPreallocator(StoreDirectory directory, VersionSet versions) {
    this.directory = directory;
    this.versions = versions;
  }

  /**
   * Creates the file unless it already exists. If it cannot be created, {@link #take} tries again
   * and throws the error.
   */
  void prepare() {
    if (prepared == null) {
      makeAhead();
    }
  }

  private synchronized void makeAhead() {
    if (prepared != null || closed) {
      return;
    }
    try {
      prepared = make();
    } catch (IOException e) {
      prepared = null;
    }
  }

  /** Returns the file, and creates it if necessary. The caller closes it. */
  synchronized Prepared take() throws IOException {
    Prepared taken = prepared == null ? make() : prepared;
    prepared = null;
    return taken;
  }

  private Prepared make() throws IOException {
    long number = versions.newFileNumber();
    return new Prepared(number, directory.create(WalFormat.fileName(number)));
  }

  /** Deletes an unused file. */
  @Override
  public synchronized void close() throws IOException {
    closed = true;
    if (prepared != null) {
      prepared.file().close();
      directory.delete(WalFormat.fileName(prepared.number()));
      prepared = null;
    }
  }
}
