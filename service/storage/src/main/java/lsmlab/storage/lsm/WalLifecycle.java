package lsmlab.storage.lsm;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import lsmlab.storage.Durability;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.file.StoreDirectory;
import lsmlab.storage.file.SyncFailedException;
import lsmlab.storage.file.WritableFile;
import lsmlab.storage.manifest.LogEntry;
import lsmlab.storage.version.VersionSet;
import lsmlab.storage.wal.WalFormat;
import lsmlab.storage.wal.WalWriter;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Begins the logs of a store, one after another, and makes them durable when the store is closed.
 * All logs share one buffer, because only the newest one is written to. Used by one thread at a
 * time.
 */
final class WalLifecycle {

  /**
   * Size of the buffer. It holds a record's header with the longest key, and most groups of
   * records.
   */
  private static final int BUFFER_BYTES = 1 << 20;

  private static final Logger LOG = LoggerFactory.getLogger(WalLifecycle.class);

  private final StoreDirectory directory;
  private final LsmOptions options;
  private final ByteBuffer buffer = ByteBuffer.allocateDirect(BUFFER_BYTES);

  WalLifecycle(StoreDirectory directory, LsmOptions options) {
    this.directory = directory;
    this.options = options;
  }

  /**
   * Begins the first log of a store that has just been recovered.
   *
   * @return null if the log cannot be created; the store can then be read, but refuses writes until
   *     a later attempt succeeds
   * @throws SyncFailedException if it is unknown whether the log is durable
   */
  WalWriter beginFirst(Recovery recovery, long number, Health health) throws IOException {
    WalWriter log;
    try {
      log = begin(number, recovery.lastLog());
    } catch (SyncFailedException e) {
      throw e;
    } catch (IOException e) {
      health.failed(Health.Activity.MAKING_LOG, e);
      return null;
    }
    try {
      if (options.durability() == Durability.PROCESS) {
        log.sync();
      }
      recovery.noteFirstLog(new LogEntry(number, log.length()));
    } catch (SyncFailedException e) {
      log.close();
      throw e;
    } catch (IOException e) {
      LOG.warn(
          "the manifest cannot name log {}, so its loss would not be noticed: {}",
          number,
          e.toString());
    }
    return log;
  }

  /** Creates and begins a log; {@code previous} is the log before it. */
  WalWriter begin(long number, LogEntry previous) throws IOException {
    assert number > previous.number() : "log " + number + " follows log " + previous.number();
    return new WalWriter(
        directory,
        number,
        options.durability(),
        buffer,
        previous.number(),
        previous.length(),
        options.logRoomBytes());
  }

  /** Begins a log in a file that was created in advance. Deletes the file if that fails. */
  WalWriter begin(WalPreallocator.Prepared next, LogEntry previous) throws IOException {
    assert next.number() > previous.number()
        : "log " + next.number() + " follows log " + previous.number();
    return new WalWriter(
        directory,
        next.number(),
        next.file(),
        options.durability(),
        buffer,
        previous.number(),
        previous.length(),
        options.logRoomBytes());
  }

  /**
   * Makes closed logs durable and records that in the manifest, so that the next start notices a log
   * that is missing or too short.
   *
   * @param written logs since the store was opened, oldest first; the last one is durable
   */
  void close(List<LogEntry> written, VersionSet versions) throws IOException {
    if (written.isEmpty()) {
      return;
    }
    LogEntry last = written.getLast();
    if (options.durability() == Durability.PROCESS) {
      for (LogEntry log : written) {
        if (log.number() >= versions.firstLog() && log != last) {
          try (WritableFile file =
              directory.openAt(WalFormat.fileName(log.number()), log.length())) {
            file.sync();
          }
        }
      }
      directory.sync();
    }
    versions.noteDurableLog(last);
  }
}
