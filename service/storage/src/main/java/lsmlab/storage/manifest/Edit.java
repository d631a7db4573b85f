package lsmlab.storage.manifest;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/**
 * One change to the store, applied completely or not at all.
 *
 * @param nextFile a number greater than that of every file
 * @param firstLog number of the first log that is still needed; the writes of earlier ones are in
 *     tables
 * @param removed numbers of tables that are no longer part of the store
 * @param added tables that are part of the store from now on
 * @param durableLog a log that is durable with this length, as are all needed logs before it; {@link
 *     LogEntry#NONE} if the change adds no such log
 */
public record Edit(
    long nextFile, long firstLog, List<Long> removed, List<TableEntry> added, LogEntry durableLog) {

  private static final int ENTRY_BYTES = 28;
  private static final int LOG_BYTES = 16;

  /** Makes a change that adds no durable log. */
  public Edit(long nextFile, long firstLog, List<Long> removed, List<TableEntry> added) {
    this(nextFile, firstLog, removed, added, LogEntry.NONE);
  }

  ByteBuffer encode() {
    ByteBuffer out =
        ByteBuffer.allocate(
                28 + Long.BYTES * removed.size() + ENTRY_BYTES * added.size() + LOG_BYTES)
            .order(ByteOrder.LITTLE_ENDIAN);
    out.putLong(nextFile).putLong(firstLog).putInt(removed.size());
    removed.forEach(out::putLong);
    out.putInt(added.size());
    for (TableEntry entry : added) {
      out.putLong(entry.number())
          .putInt(entry.level())
          .putLong(entry.order())
          .putLong(entry.bytes());
    }
    out.putInt(1).putLong(durableLog.number()).putLong(durableLog.length());
    return out.flip();
  }

  static Edit decode(ByteBuffer in) {
    long nextFile = in.getLong();
    long firstLog = in.getLong();
    List<Long> removed = new ArrayList<>();
    for (int left = in.getInt(); left > 0; left--) {
      removed.add(in.getLong());
    }
    List<TableEntry> added = new ArrayList<>();
    for (int left = in.getInt(); left > 0; left--) {
      added.add(new TableEntry(in.getLong(), in.getInt(), in.getLong(), in.getLong()));
    }
    LogEntry durableLog = LogEntry.NONE;
    for (int left = in.getInt(); left > 0; left--) {
      LogEntry log = new LogEntry(in.getLong(), in.getLong());
      durableLog = log.length() > 0 ? log : durableLog;
    }
    return new Edit(nextFile, firstLog, List.copyOf(removed), List.copyOf(added), durableLog);
  }
}
