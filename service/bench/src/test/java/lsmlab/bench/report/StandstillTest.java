package lsmlab.bench.report;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class StandstillTest {

  @Test
  void theLongestStopIsShorterThanTheWatchAndNotNothing() {
    long begin = System.nanoTime();
    double longest = Standstill.longestMillis(Duration.ofMillis(200));
    double watched = (System.nanoTime() - begin) / 1e6;
    assertTrue(watched >= 200, () -> "watched for " + watched + " ms");
    assertTrue(longest > 0 && longest < watched, () -> longest + " of " + watched + " ms");
  }
}
