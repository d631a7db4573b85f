package lsmlab.storage.event;

import java.util.Locale;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes a line of JSON to the log at the end of each flush, compaction, stall and slow sync of the
 * WAL. RocksDB's {@code EVENT_LOG_v1} does the same. The logger has this class's name, and the
 * lines have level debug; {@code service/jvm.options} turns it on, and docs/contracts.md describes
 * the lines.
 *
 * <p>An event costs the thread that reports it a few microseconds. Threads that serve requests
 * report only stalls and slow syncs. Thread-safe.
 */
public final class EventLog {

  private static final Logger LOG = LoggerFactory.getLogger(EventLog.class);

  /** Shorter syncs are not reported, because there may be thousands of them a second. */
  private static final long SYNC_NANOS_MIN = TimeUnit.MILLISECONDS.toNanos(20);

  private EventLog() {}

  /** Reports that a memtable was flushed to a table of level 0. */
  public static void flush(long nanos, long memtableBytes, long tableBytes) {
    write("flush", nanos, "\"bytes_in\":%d,\"bytes\":%d".formatted(memtableBytes, tableBytes));
  }

  /**
   * Reports a compaction.
   *
   * @param fromLevel lowest level of the inputs
   * @param level level of the outputs
   * @param bytesIn size of the inputs
   * @param bytes size of the outputs
   */
  public static void compaction(
      long nanos, int fromLevel, int level, int tablesIn, long bytesIn, long bytes) {
    write(
        "compaction",
        nanos,
        "\"from_level\":%d,\"level\":%d,\"tables_in\":%d,\"bytes_in\":%d,\"bytes\":%d"
            .formatted(fromLevel, level, tablesIn, bytesIn, bytes));
  }

  /**
   * Reports a stall, which lasts from the first write that had to wait until no write waits any
   * longer.
   */
  public static void stall(long nanos, int writes) {
    write("stall", nanos, "\"writes\":%d".formatted(writes));
  }

  /** Reports a sync of the WAL, unless it took less than 20 ms. */
  public static void walSync(long nanos) {
    if (nanos >= SYNC_NANOS_MIN) {
      write("wal_sync", nanos, "");
    }
  }

  private static void write(String type, long nanos, String more) {
    if (LOG.isDebugEnabled()) {
      double millis = nanos / 1e6;
      double start = System.currentTimeMillis() - millis;
      String comma = more.isEmpty() ? "" : ",";
      LOG.debug(
          String.format(
              Locale.ROOT,
              "{\"event\":\"%s\",\"start_ms\":%.1f,\"ms\":%.3f%s%s}",
              type,
              start,
              millis,
              comma,
              more));
    }
  }
}
