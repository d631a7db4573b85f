package lsmlab.storage.manifest;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/**
 * One change, applied whole or not at all.
 *
 * @param nextFile no file has this number or a greater one
 * @param firstLog logs before this one are in tables
 * @param removed numbers of tables that are no longer part of the store
 * @param added tables that are from now on
 */
public record Edit(long nextFile, long firstLog, List<Long> removed, List<TableEntry> added) {

  private static final int ENTRY_BYTES = 28;

  ByteBuffer encode() {
    ByteBuffer out =
        ByteBuffer.allocate(24 + Long.BYTES * removed.size() + ENTRY_BYTES * added.size())
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
    return new Edit(nextFile, firstLog, List.copyOf(removed), List.copyOf(added));
  }
}
