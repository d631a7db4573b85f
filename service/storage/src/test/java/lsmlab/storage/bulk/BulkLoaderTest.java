package lsmlab.storage.bulk;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.util.List;
import lsmlab.storage.Compression;
import lsmlab.storage.file.SimulatedDirectory;
import lsmlab.storage.file.SimulatedDirectory.Operation;
import lsmlab.storage.table.TableLayout;
import org.junit.jupiter.api.Test;

class BulkLoaderTest {

  /** The caller deletes the files of a load that failed, so none may be written afterwards. */
  @Test
  void afterAnErrorNoThreadWritesAnyMore() {
    SimulatedDirectory directory = new SimulatedDirectory();
    directory.setFault(
        (operation, name) -> {
          if (operation == Operation.CREATE && name.equals("000001.sst")) {
            throw new IOException("injected");
          }
        });
    BulkLoader loader =
        new BulkLoader(
            directory,
            new PairGenerator(200, 100, 1),
            40_000,
            4,
            new TableLayout(4_096, 10, Compression.NONE),
            false,
            false);
    assertThrows(IOException.class, () -> loader.load(2));
    assertEquals(List.of(), directory.inUse());
  }
}
