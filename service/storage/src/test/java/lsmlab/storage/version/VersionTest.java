package lsmlab.storage.version;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import lsmlab.storage.file.SimulatedDirectory;
import lsmlab.storage.manifest.TableEntry;
import lsmlab.storage.memtable.ChunkPool;
import lsmlab.storage.memtable.Memtable;
import lsmlab.storage.table.Table;
import lsmlab.storage.table.TableFormat;
import lsmlab.storage.table.TableLayout;
import lsmlab.storage.table.TableWriter;
import lsmlab.storage.version.TableSet.Placed;
import org.junit.jupiter.api.Test;

class VersionTest {

  private static final int TABLES = 20;
  private static final int SEALS = 50;

  private final SimulatedDirectory directory = new SimulatedDirectory();

  private Table table(int number) throws IOException {
    MemorySegment key =
        MemorySegment.ofArray("k%03d".formatted(number).getBytes(StandardCharsets.US_ASCII));
    try (TableWriter writer = new TableWriter(directory, number, 0, new TableLayout(4096, 0))) {
      writer.add(key, 0, 4, key, 0, 4);
      writer.finish();
    }
    return Table.open(directory, number);
  }

  private List<String> mapped() {
    return directory.names(".sst").stream().filter(directory::isMapped).toList();
  }

  /**
   * A writer that seals a memtable must not touch each table. So a table counts the sets that hold
   * it, not the versions. Here each table has two references, this test's and the set's, however
   * many memtables were sealed.
   */
  @Test
  void sealingAMemtableTakesNoReferenceOfEachTable() throws IOException {
    List<Placed> placed = new ArrayList<>();
    for (int i = 1; i <= TABLES; i++) {
      Table table = table(i);
      placed.add(new Placed(new TableEntry(i, 1, 0, table.bytes()), table));
    }
    TableSet tables = new TableSet(placed);
    try (ChunkPool pool = new ChunkPool()) {
      List<Version> versions = new ArrayList<>();
      for (int log = 1; log <= SEALS; log++) {
        versions.add(new Version(new Memtable(pool, log), List.of(), tables));
      }
      for (Placed each : placed) {
        each.table().release();
        each.table().release();
      }
      assertTrue(mapped().isEmpty(), () -> "more references than two: " + mapped());
    }
  }

  @Test
  void theLastVersionOfATableUnmapsIt() throws IOException {
    Table table = table(1);
    TableSet tables = new TableSet(List.of(new Placed(new TableEntry(1, 1, 0, 0), table)));
    try (ChunkPool pool = new ChunkPool()) {
      Version first = new Version(new Memtable(pool, 1), List.of(), tables);
      Version second = new Version(new Memtable(pool, 2), List.of(), tables);
      table.release();
      first.release();
      assertTrue(directory.isMapped(TableFormat.fileName(1)));
      second.release();
      assertFalse(directory.isMapped(TableFormat.fileName(1)));
    }
  }
}
