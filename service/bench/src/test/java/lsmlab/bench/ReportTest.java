package lsmlab.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import lsmlab.bench.report.Comparison;
import lsmlab.bench.report.MarkdownTable;
import lsmlab.bench.report.Metric;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ReportTest {

  private static final Metric RATE = Metric.named("get_present_1t").orElseThrow();
  private static final Metric STALL = Metric.named("overwrite_stall_max").orElseThrow();
  private static final Metric OPEN = Metric.named("open").orElseThrow();

  @Test
  void comparesNeighbouringRunsAndTakesTheMedian() {
    Comparison row =
        Comparison.of(
            RATE, "rocksdb", List.of(300.0, 900.0, 100.0), List.of(100.0, 100.0, 100.0), "rocksdb");
    assertEquals(300, row.ours());
    assertEquals(100, row.peer());
    assertEquals(3, row.ratio());
    assertEquals(List.of(1.0, 9.0), row.spread());
    assertEquals(3, row.runs());
    assertEquals("≥ 3×", row.target());
    assertTrue(row.met());
  }

  @Test
  void lessIsBetterWhereTheMetricSaysSo() {
    Comparison row = Comparison.of(STALL, "rocksdb", List.of(50.0), List.of(200.0), "rocksdb");
    assertEquals(4, row.ratio());
    assertEquals(false, row.met());
  }

  @Test
  void anAbsoluteTargetLooksAtOursAlone() {
    Comparison slow = Comparison.of(OPEN, "mvstore", List.of(201.0), List.of(900.0), "rocksdb");
    assertEquals("≤ 200 ms", slow.target());
    assertEquals(false, slow.met());
    Comparison fast = Comparison.of(OPEN, "mvstore", List.of(199.0), List.of(1.0), "rocksdb");
    assertEquals(true, fast.met());
  }

  @Test
  void aRatioIsWantedOfTheReferenceOnly() {
    Comparison row = Comparison.of(RATE, "mvstore", List.of(1.0), List.of(2.0), "rocksdb");
    assertNull(row.target());
    assertNull(row.met());
  }

  @Test
  void refusesRunsThatHaveNoNeighbour() {
    assertThrows(
        IllegalArgumentException.class,
        () -> Comparison.of(RATE, "rocksdb", List.of(1.0), List.of(1.0, 2.0), "rocksdb"));
    assertThrows(
        IllegalArgumentException.class,
        () -> Comparison.of(RATE, "rocksdb", List.of(), List.of(), "rocksdb"));
  }

  @Test
  void theMedianOfAnEvenNumberLiesBetween() {
    assertEquals(2.5, Comparison.median(List.of(4.0, 1.0, 3.0, 2.0)));
  }

  @Test
  void aTableHasARowForEachComparison() {
    String table =
        MarkdownTable.of(
            List.of(
                Comparison.of(RATE, "rocksdb", List.of(654_321.0), List.of(200_000.0), "rocksdb"),
                Comparison.of(STALL, "rocksdb", List.of(50.0), List.of(200.0), "rocksdb")));
    assertTrue(
        table.contains(
            "| GET present, 1 thread | 1/s | 654,321 | 200,000 | rocksdb | 3.27× (3.27 … 3.27) | 1 | ≥ 3× | met |"),
        table);
    assertTrue(table.contains("| **not met** |"), table);
  }

  @Test
  void replacesWhatIsBetweenTheMarkersAndNothingElse(@TempDir Path directory) throws IOException {
    Path page = directory.resolve("page.md");
    Files.writeString(
        page, "above\n<!-- bench-storage:begin -->\nold\n<!-- bench-storage:end -->\nbelow\n");
    MarkdownTable.update(page, "bench-storage", "new\n");
    assertEquals(
        "above\n<!-- bench-storage:begin -->\nnew\n<!-- bench-storage:end -->\nbelow\n",
        Files.readString(page));
  }

  @Test
  void leavesAPageWithoutMarkersAlone(@TempDir Path directory) throws IOException {
    Path page = directory.resolve("page.md");
    Files.writeString(page, "nothing to replace");
    IOException failure =
        assertThrows(IOException.class, () -> MarkdownTable.update(page, "bench-storage", "new"));
    assertTrue(failure.getMessage().contains("bench-storage:begin"), failure.getMessage());
    assertEquals("nothing to replace", Files.readString(page));
  }
}
