package lsmlab.storage.lsm;

import java.io.IOException;
import lsmlab.storage.file.StoreDirectory;
import lsmlab.storage.file.WritableFile;
import lsmlab.storage.wal.WalFormat;

/**
 * Makes the file of the next log ahead, on another thread than a writer's: making a file can wait for the file system's
 * journal, tens of milliseconds while tables are being synced, and every write would wait with it.
 *
 * <p>Two memtables can be sealed while one is being flushed, so a flush thread looks after it while it builds a table too,
 * not only when it begins.
 *
 * <p>A file that was made and not used is empty. It is removed when the store is closed; after a crash it is a log without a
 * first record, which holds nothing and is removed at the next start. Thread-safe.
 */
final class WalPreallocator implements AutoCloseable {

  /** A log's file, empty. */
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
   * Makes the file unless it is there; costs nothing if it is. That it cannot be made is told to who {@link #take takes}
   * it, who tries again.
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

  /** The file, made now if it is not there. Its user closes it. */
  synchronized Prepared take() throws IOException {
    Prepared taken = prepared == null ? make() : prepared;
    prepared = null;
    return taken;
  }

  private Prepared make() throws IOException {
    long number = versions.newFileNumber();
    return new Prepared(number, directory.create(WalFormat.fileName(number)));
  }

  /** Removes what was not used. */
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
