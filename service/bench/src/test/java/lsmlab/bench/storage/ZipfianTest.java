package lsmlab.bench.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class ZipfianTest {

  private static final int COUNT = 1_000;
  private static final int DRAWS = 1_000_000;

  private final Zipfian zipfian = new Zipfian(COUNT);
  private final SplittableRandom random = new SplittableRandom(1);

  @Test
  void aRankOccursInProportionToItsPowerLaw() {
    int[] drawn = new int[COUNT];
    for (int i = 0; i < DRAWS; i++) {
      drawn[zipfian.rank(random.nextLong())]++;
    }
    double zeta = 0;
    for (int rank = 1; rank <= COUNT; rank++) {
      zeta += Math.pow(rank, -0.99);
    }
    assertEquals(1 / zeta, (double) drawn[0] / DRAWS, 0.002);
    assertEquals(Math.pow(2, -0.99) / zeta, (double) drawn[1] / DRAWS, 0.002);
    // The method approximates ranks behind the second by a continuous curve.
    double first100 = 0;
    double expected = 0;
    for (int rank = 0; rank < 100; rank++) {
      first100 += (double) drawn[rank] / DRAWS;
      expected += Math.pow(rank + 1, -0.99) / zeta;
    }
    assertEquals(expected, first100, 0.02);
  }

  @Test
  void allRandomBitsGiveANumberInRange() {
    for (long bits : new long[] {0, 1, -1, Long.MIN_VALUE, Long.MAX_VALUE}) {
      int rank = zipfian.rank(bits);
      assertTrue(rank >= 0 && rank < COUNT, "rank " + rank);
      int number = zipfian.number(bits);
      assertTrue(number >= 0 && number < COUNT, "number " + number);
    }
  }

  @Test
  void frequentNumbersAreScattered() {
    int first = zipfian.number(0);
    int second = zipfian.number((long) (1.2 / Math.log(COUNT) * Long.MAX_VALUE) << 1);
    assertTrue(Math.abs(first - second) > 1, first + " and " + second);
  }
}
