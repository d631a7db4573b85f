package lsmlab.storage.manifest;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import lsmlab.storage.file.StoreDirectory;

/**
 * Prints a manifest record by record. When a record is not whole, reports that and continues at the
 * next whole record.
 */
public final class ManifestDumper {

  private ManifestDumper() {}

  /**
   * Prints the manifest. Returns the number of places that hold no whole record; a torn end counts
   * as one.
   */
  public static long dump(StoreDirectory directory, String name, PrintWriter out)
      throws IOException {
    ByteBuffer in = Manifest.content(directory, name);
    out.printf("manifest, %d bytes%n", in.limit());
    long faults = 0;
    long records = 0;
    for (int position = 0; position < in.limit(); ) {
      if (Manifest.isWhole(in, position)) {
        faults += printRecord(in, position, out);
        records++;
        position = Manifest.end(in, position);
      } else {
        int next = position + 1;
        while (next < in.limit() && !Manifest.isWhole(in, next)) {
          next++;
        }
        faults++;
        out.printf(
            "%10d  %s: %d bytes without a whole record%n",
            position, next < in.limit() ? "DAMAGED" : "the end, TORN or damaged", next - position);
        position = next;
      }
    }
    out.printf("%d records, %d places damaged or torn%n", records, faults);
    return faults;
  }

  private static long printRecord(ByteBuffer in, int position, PrintWriter out) {
    byte type = Manifest.type(in, position);
    ByteBuffer payload = Manifest.payload(in, position);
    try {
      switch (type) {
        case Manifest.SNAPSHOT -> {
          boolean magic = payload.getLong() == Manifest.MAGIC;
          out.printf(
              "%10d  snapshot, format %d%s%n",
              position, payload.getInt(), magic ? "" : ", DAMAGED: its magic is wrong");
          printEdit(Edit.decode(payload), out);
          return magic ? 0 : 1;
        }
        case Manifest.EDIT -> {
          out.printf("%10d  edit%n", position);
          printEdit(Edit.decode(payload), out);
        }
        case Manifest.SYNCED ->
            out.printf("%10d  synced to offset %d%n", position, payload.getLong());
        default -> {
          out.printf("%10d  DAMAGED: a record of unknown type %d%n", position, type);
          return 1;
        }
      }
      return 0;
    } catch (BufferUnderflowException e) {
      out.printf("%10s  DAMAGED: the record is shorter than its content%n", "");
      return 1;
    }
  }

  private static void printEdit(Edit edit, PrintWriter out) {
    String indent = " ".repeat(12);
    out.printf("%snext file %d, first log %d%n", indent, edit.nextFile(), edit.firstLog());
    edit.removed().forEach(number -> out.printf("%s− table %d%n", indent, number));
    for (TableEntry entry : edit.added()) {
      out.printf(
          "%s+ table %d, level %d, order %d, %d bytes%n",
          indent, entry.number(), entry.level(), entry.order(), entry.bytes());
    }
    LogEntry log = edit.durableLog();
    if (log != LogEntry.NONE) {
      out.printf("%slog %d, %d bytes%n", indent, log.number(), log.length());
    }
  }
}
