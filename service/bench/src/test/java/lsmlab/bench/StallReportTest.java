package lsmlab.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import lsmlab.bench.report.Stall;
import lsmlab.bench.report.StallReport;
import lsmlab.bench.workload.Outcome;
import org.junit.jupiter.api.Test;

class StallReportTest {

  private static final Stall LONG =
      new Stall(12.4, 7, 30, null, new Stall.Split(1, 2, 27, 0, 3, 1, 40));
  private static final Stall SHORT =
      new Stall(3, 5, 10, null, new Stall.Split(1, 2, 0, 7, 0, 0, 0));

  @Test
  void saysOfEachEngineWhatItsLongestConsistOf() {
    assertEquals(
        "\nLongest stalls of `lsm`: 30.0 ms at 12 s (on the CPU 1.0, waiting for it 2.0, asleep 27.0, taken by the host 0.0);"
            + " the 2 longest together 40.0 ms (on the CPU 2.0, waiting for it 4.0, asleep 27.0, taken by the host 7.0).\n",
        StallReport.of(Map.of("lsm", List.of(List.of(SHORT), List.of(LONG)))));
  }

  @Test
  void saysForHowLongNoCpuCouldBeHadWhereSomebodyWatched() {
    Stall watched = new Stall(12.4, 7, 30, 21.5, LONG.split());
    assertEquals(8.5, watched.runningMillis());
    assertEquals(30, LONG.runningMillis());
    String text = StallReport.of(Map.of("lsm", List.of(List.of(watched))));
    assertTrue(
        text.contains("taken by the host 0.0; of all that no CPU could be had for 21.5)"), text);
  }

  @Test
  void tellsOfTheTenLongestOfAllRuns() {
    List<Stall> run = Collections.nCopies(8, SHORT);
    String text = StallReport.of(Map.of("lsm", List.of(run, run)));
    assertTrue(text.contains("the 10 longest together 100.0 ms"), text);
  }

  @Test
  void saysSoWhereTheSystemDoesNotTell() {
    assertEquals(
        "\nLongest stalls of `lsm`: 5.0 ms at 1 s (what of cannot be told here); the 1 longest together 5.0 ms (what of cannot"
            + " be told here).\n",
        StallReport.of(Map.of("lsm", List.of(List.of(new Stall(1, 5, 5, null, null))))));
    assertEquals("", StallReport.of(Map.of("lsm", List.of(List.of()))));
  }

  @Test
  void travelsFromTheFork() throws Exception {
    ObjectMapper json = new ObjectMapper();
    Outcome sent = new Outcome(Map.of("open", 1.5), List.of(LONG, new Stall(1, 5, 5, null, null)));
    String text = json.writeValueAsString(sent);
    assertEquals(sent, json.readValue(text, Outcome.class), text);
    assertFalse(text.contains("null"), text);
  }
}
