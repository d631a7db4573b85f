package lsmlab.bench.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.util.Arrays;
import java.util.Iterator;
import org.junit.jupiter.api.Test;

class SaturationTest {

  private final ByteArrayOutputStream progress = new ByteArrayOutputStream();
  private final Saturation saturation = new Saturation(null, new PrintStream(progress, true));

  /** What is kept of intervals in which the host took so much, and how many of them are not measured. */
  private double kept(int left, double... hostShares) throws Exception {
    Iterator<Saturation.Figures> intervals =
        Arrays.stream(hostShares)
            .mapToObj(share -> new Saturation.Figures(1000, 10, 1, share))
            .iterator();
    double kept = saturation.calmest("sync", intervals::next).hostShare();
    int rest = 0;
    for (; intervals.hasNext(); intervals.next()) {
      rest++;
    }
    assertEquals(left, rest);
    return kept;
  }

  @Test
  void aCalmIntervalIsMeasuredOnce() throws Exception {
    assertEquals(0.03, kept(1, 0.03, 0), 0);
    assertFalse(progress.toString().contains("again"));
  }

  @Test
  void oneThatTheHostDisturbedIsMeasuredUntilItIsCalm() throws Exception {
    assertEquals(0.01, kept(1, 0.25, 0.04, 0.01, 0), 0);
    assertTrue(
        progress
            .toString()
            .contains("the host took 25.0% of the CPUs while sync was measured: again"),
        progress.toString());
  }

  @Test
  void whereNoneIsCalmTheCalmestOfFourIsKept() throws Exception {
    assertEquals(0.1, kept(1, 0.2, 0.1, 0.3, 0.25, 0), 0);
  }
}
