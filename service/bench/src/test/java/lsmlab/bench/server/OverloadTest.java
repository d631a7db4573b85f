package lsmlab.bench.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import lsmlab.bench.harness.Figures;
import org.junit.jupiter.api.Test;

class OverloadTest {

  private static final String REPORT =
      """
      {"elapsed_s": 2, "requests": 1000, "status": {"200": 300, "404": 100, "503": 600},
       "errors": {"connect": 1, "read": 2, "write": 4, "timeout": 8},
       "uncorrected_us": {"percentiles": {"99": 2500}}}
      """;

  @Test
  void refusalsAreNotGoodputAndRequestsWithoutAResponseAreLost() throws IOException {
    Load load = new Load(new ObjectMapper().readTree(REPORT), 0.01, 0, 0);
    assertEquals(200, load.goodput());
    assertEquals(10, load.cpuMicros(), 1e-9);
    assertEquals(2.5, load.responseMillisP99());
    assertEquals(15, load.lost());
  }

  @Test
  void cpuTimeIsUserAndSystemTimeWhateverTheNameOfTheThread() {
    String stat = "42 (C2 Comp) ) R 1 2 3 4 5 6 7 8 9 10 700 30 5000 6000 20 0";
    assertEquals(730, ServerProcess.ticks(stat));
  }

  @Test
  void lostRequestsAndGrowingMemoryMissTheTarget() {
    Figures figures = new Figures(System.err);
    add(figures, "sync 0", 0, 1_090);
    add(figures, "queue 5000", 1, 1_000);
    add(figures, "stack 0", 0, 1_110);
    String table = Overload.table(figures, 60);
    assertTrue(table.contains("| `sync` | any | 100 | 80 | 0.80 |"), table);
    assertTrue(line(table, "sync").endsWith("| met |"), table);
    assertTrue(line(table, "queue").endsWith("| 1 | 1,000, 1,000 | **not met** |"), table);
    assertTrue(line(table, "stack").endsWith("| **not met** |"), table);
  }

  private static String line(String table, String variant) {
    return table.lines().filter(line -> line.contains("`" + variant + "`")).findFirst().get();
  }

  private static void add(Figures figures, String name, double lost, double residentAfter) {
    figures.add(name, "saturated", 100);
    figures.add(name, "goodput", 80);
    figures.add(name, "refused", 10);
    figures.add(name, "p99", 5);
    figures.add(name, "lost", lost);
    figures.add(name, "resident_before", 1_000);
    figures.add(name, "resident_after", residentAfter);
  }
}
