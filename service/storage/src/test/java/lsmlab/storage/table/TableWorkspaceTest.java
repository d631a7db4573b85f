package lsmlab.storage.table;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import lsmlab.storage.file.SimulatedDirectory;
import org.junit.jupiter.api.Test;

class TableWorkspaceTest {

  private static final int LARGE_BYTES = 40 << 20;

  private final TableWorkspace workspace = new TableWorkspace();

  private void writeTable(long number, int valueBytes) throws IOException {
    MemorySegment key = MemorySegment.ofArray(new byte[] {1});
    MemorySegment value = MemorySegment.ofArray(new byte[valueBytes]);
    try (TableWriter writer =
        new TableWriter(
            new SimulatedDirectory(), number, 0, new TableLayout(4096, 10), workspace)) {
      writer.add(key, 0, 1, value, 0, valueBytes);
      writer.finish();
    }
  }

  /** A flush thread keeps its workspace as long as the store is open. */
  @Test
  void theMemoryOfALargeValueIsFreedWhenItsTableIsWritten() throws IOException {
    writeTable(1, 100);
    int values = workspace.block.valueCapacity();
    int out = workspace.out.capacity();
    writeTable(2, LARGE_BYTES);
    assertEquals(values, workspace.block.valueCapacity());
    assertEquals(out, workspace.out.capacity());
  }

  @Test
  void theMemoryOfAnOrdinaryTableIsKept() throws IOException {
    writeTable(1, 1 << 20);
    int values = workspace.block.valueCapacity();
    assertTrue(values >= 1 << 20, "kept only " + values);
    writeTable(2, 100);
    assertEquals(values, workspace.block.valueCapacity());
  }
}
