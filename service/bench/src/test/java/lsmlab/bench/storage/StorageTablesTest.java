package lsmlab.bench.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import lsmlab.bench.harness.Figures;
import lsmlab.bench.harness.Summary;
import org.junit.jupiter.api.Test;

class StorageTablesTest {

  private final Figures figures = new Figures(System.err);

  @Test
  void theBetterOneWinsEveryRound() {
    assertEquals("`lsm`", StorageTables.winner(new Summary(2, 1.1, 3, 5), "lsm", "rocksdb"));
    assertEquals(
        "`rocksdb`", StorageTables.winner(new Summary(0.5, 0.1, 0.9, 5), "lsm", "rocksdb"));
    assertEquals("neither", StorageTables.winner(new Summary(2, 0.9, 3, 5), "lsm", "rocksdb"));
  }

  @Test
  void theTargetIsAgainstTheTunedPeerAndLessMayBeBetter() {
    add("put_power_64t", 130, 100, 100);
    add("overwrite_p9999", 2, 3, 9);
    String table = StorageTables.of(figures, List.of("lsm", "rocksdb", "rocksdb-tuned"));
    assertTrue(
        table.contains(
            "| PUT, power durability, 64 writers | 1/s | 130 | 100 | `rocksdb-tuned` | 1.30× (1.30"
                + " … 1.30) | 2 | `lsm` | ≥ 1.30× | met |"),
        table);
    assertTrue(table.contains("| `rocksdb` | 1.50× (1.50 … 1.50) | 2 | `lsm` |  |  |"), table);
    assertTrue(table.contains("| `rocksdb-tuned` | 4.50× (4.50 … 4.50) |"), table);
    assertFalse(table.contains("tenths"), table);
  }

  @Test
  void aLimitOfOurOwnFigureDoesNotDependOnThePeer() {
    add("open", 300, 900, 900);
    String table = StorageTables.of(figures, List.of("lsm", "rocksdb", "rocksdb-tuned"));
    assertEquals(2, table.split("≤ 200 ms \\| \\*\\*not met\\*\\*", -1).length - 1, table);
  }

  private void add(String metric, double ours, double peer, double tuned) {
    for (int round = 0; round < 2; round++) {
      figures.add("lsm", metric, ours);
      figures.add("rocksdb", metric, peer);
      figures.add("rocksdb-tuned", metric, tuned);
    }
  }
}
