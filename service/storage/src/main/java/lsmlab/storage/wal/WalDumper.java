package lsmlab.storage.wal;

import java.io.IOException;
import java.io.PrintWriter;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import lsmlab.storage.Durability;
import lsmlab.storage.file.Bytes;
import lsmlab.storage.file.Printable;
import lsmlab.storage.file.StoreDirectory;

/**
 * Prints a log record by record. When a record is not whole, reports that and continues at the next
 * whole record.
 */
public final class WalDumper {

  private final MemorySegment bytes;
  private final long size;
  private final long number;
  private final PrintWriter out;
  private long faults;

  /**
   * The key with which record heads are computed, see {@link WalFormat#head}. The first record
   * contains the salt from which the key of all others is made.
   */
  private long key;

  private WalDumper(MemorySegment bytes, long number, PrintWriter out) {
    this.bytes = bytes;
    this.size = bytes.byteSize();
    this.number = number;
    this.out = out;
    this.key = WalFormat.key(number, 0);
  }

  /**
   * Prints the log. Returns the number of places that hold no whole record. A torn end counts as
   * one; zeros at the end do not count.
   */
  public static long dump(StoreDirectory directory, long number, PrintWriter out)
      throws IOException {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment bytes = directory.map(WalFormat.fileName(number), arena);
      return new WalDumper(bytes, number, out).run();
    }
  }

  private long run() {
    out.printf("WAL %d, %d bytes%n", number, size);
    long records = 0;
    for (long position = 0; position < size; ) {
      if (WalReader.isWhole(bytes, position, key)) {
        printRecord(position);
        records++;
        position = WalReader.end(bytes, position);
      } else {
        position = printDamage(position);
      }
    }
    out.printf("%d records, %d places damaged or torn%n", records, faults);
    return faults;
  }

  private void printRecord(long position) {
    long payload = position + WalFormat.HEADER_BYTES;
    int length = bytes.get(Bytes.INT, position + WalFormat.LENGTH);
    byte type = bytes.get(ValueLayout.JAVA_BYTE, position + WalFormat.TYPE);
    String what =
        switch (type) {
          case WalFormat.PUT -> {
            int keyLength = length < Short.BYTES ? -1 : bytes.get(Bytes.SHORT, payload) & 0xffff;
            int valueLength = length - Short.BYTES - keyLength;
            yield keyLength < 0 || valueLength < 0
                ? fault("a put record whose key is longer than the record")
                : "put "
                    + Printable.text(bytes, payload + Short.BYTES, keyLength)
                    + " = "
                    + Printable.text(bytes, payload + Short.BYTES + keyLength, valueLength);
          }
          case WalFormat.DELETE -> "delete " + Printable.text(bytes, payload, length);
          case WalFormat.BEGIN ->
              length < WalFormat.BEGIN_PAYLOAD_BYTES
                  ? fault("a begin record that is too short")
                  : begin(payload);
          case WalFormat.SYNCED ->
              length < Long.BYTES
                  ? fault("a synced record that is too short")
                  : "synced to offset " + bytes.get(Bytes.LONG, payload);
          default -> fault("a record of unknown type " + type);
        };
    out.printf("%10d  %s%n", position, what);
  }

  private String begin(long payload) {
    key = WalFormat.key(number, bytes.get(Bytes.LONG, payload + 21));
    byte durability = bytes.get(ValueLayout.JAVA_BYTE, payload + 4);
    return "begin: format %d, durability %s, previous log %d with %d bytes"
        .formatted(
            bytes.get(Bytes.INT, payload),
            durability == Durability.POWER.ordinal() ? "power" : "process",
            bytes.get(Bytes.LONG, payload + 5),
            bytes.get(Bytes.LONG, payload + 13));
  }

  private String fault(String what) {
    faults++;
    return "DAMAGED: " + what;
  }

  /**
   * Prints a place that holds no whole record. Returns the offset of the next record, or of the
   * end.
   */
  private long printDamage(long position) {
    long next = position + 1;
    while (next < size && !WalReader.isWhole(bytes, next, key)) {
      next++;
    }
    boolean zeros = true;
    for (long at = position; at < next && zeros; at++) {
      zeros = bytes.get(ValueLayout.JAVA_BYTE, at) == 0;
    }
    if (zeros && next == size) {
      out.printf("%10d  unused: %d bytes, all zero%n", position, next - position);
      return next;
    }
    faults++;
    out.printf(
        "%10d  %s: %d bytes%s without a whole record%n",
        position,
        next < size ? "DAMAGED" : "the end, TORN or damaged",
        next - position,
        zeros ? ", all zero," : "");
    return next;
  }
}
