package lsmlab.storage.table;

import java.io.IOException;
import java.io.PrintWriter;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import lsmlab.storage.CorruptionException;
import lsmlab.storage.file.Bytes;
import lsmlab.storage.file.Printable;
import lsmlab.storage.file.StoreDirectory;

/**
 * Prints a table: first its footer and properties, then the pairs of each block. A damaged block is
 * reported in place of its pairs, and the next block follows. If the end of the file is damaged,
 * the blocks cannot be found, and only that damage is reported.
 */
public final class TableDumper {

  private final Table table;
  private final BlockView view = new BlockView();
  private final PrintWriter out;

  private TableDumper(Table table, PrintWriter out) {
    this.table = table;
    this.out = out;
  }

  /** Prints the table and returns the number of faults. */
  public static long dump(StoreDirectory directory, long number, PrintWriter out)
      throws IOException {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment bytes = directory.map(TableFormat.fileName(number), arena);
      out.printf("table %d, %d bytes%n", number, bytes.byteSize());
      Table table;
      try {
        table = Table.open(directory, number);
      } catch (CorruptionException e) {
        out.printf("DAMAGED: %s%n", e.getMessage());
        printFooter(bytes, out);
        return 1;
      }
      try {
        printFooter(bytes, out);
        return new TableDumper(table, out).run();
      } finally {
        table.release();
      }
    }
  }

  private static void printFooter(MemorySegment bytes, PrintWriter out) {
    long footer = bytes.byteSize() - TableFormat.FOOTER_BYTES;
    if (footer < 0) {
      out.printf("footer: the file is shorter than a footer%n");
      return;
    }
    String[] sections = {"index", "filter", "properties"};
    for (int i = 0; i < sections.length; i++) {
      out.printf(
          "%10d  footer: %s at %d, %d bytes, crc %08x%n",
          footer,
          sections[i],
          bytes.get(Bytes.LONG, footer + 16L * i),
          bytes.get(Bytes.LONG, footer + 16L * i + 8),
          bytes.get(Bytes.INT, footer + 48 + 4L * i));
    }
    out.printf("%10d  footer: format %d%n", footer, bytes.get(Bytes.INT, footer + 60));
  }

  private long run() {
    out.printf(
        "properties: %d entries, %d of them tombstones, from %s to %s, %s%n",
        table.entries(),
        table.tombstones(),
        Printable.text(table.minKey()),
        Printable.text(table.maxKey()),
        table.sourceLog() == 0 ? "made by a compaction" : "flushed from WAL " + table.sourceLog());
    long faults = 0;
    for (int block = 0; block < table.blockCount(); block++) {
      try {
        view.enter(table, block);
        printBlock(block);
      } catch (CorruptionException e) {
        faults++;
        out.printf("block %d: DAMAGED: %s%n", block, e.getMessage());
      }
    }
    if (faults == 0) {
      try {
        table.verify();
      } catch (CorruptionException e) {
        faults++;
        out.printf("DAMAGED: %s%n", e.getMessage());
      }
    }
    out.printf("%d blocks, %d faults%n", table.blockCount(), faults);
    return faults;
  }

  private void printBlock(int block) {
    MemorySegment bytes = view.bytes();
    long start = view.start();
    int pairs = Block.pairs(bytes, start);
    out.printf(
        "%10d  block %d, %d pairs%s%n",
        table.blockOffset(block), block, pairs, table.isCompressed(block) ? ", LZ4" : "");
    for (int pair = 0; pair < pairs; pair++) {
      int key = Block.keySlot(bytes, start, pair);
      String keyText =
          Printable.text(bytes, start + key, Block.keySlot(bytes, start, pair + 1) - key);
      int value = Block.valueSlot(bytes, start, pair);
      int end = Block.valueSlot(bytes, start, pair + 1) & TableFormat.OFFSET_MASK;
      String valueText =
          value < 0 ? "deleted" : "= " + Printable.text(bytes, start + value, end - value);
      out.printf("%12s%s %s%n", "", keyText, valueText);
    }
  }
}
