package lsmlab.bench.harness;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import org.junit.jupiter.api.Test;

class SummaryTest {

  @Test
  void theMedianIsTheMiddleValueOrTheMeanOfTheMiddleTwo() {
    assertEquals(new Summary(3, 1, 9, 3), Summary.of(List.of(9.0, 1.0, 3.0)));
    assertEquals(new Summary(2.5, 1, 9, 4), Summary.of(List.of(3.0, 9.0, 1.0, 2.0)));
    assertThrows(IllegalArgumentException.class, () -> Summary.of(List.of()));
  }

  @Test
  void ratiosAreTakenRoundByRoundBeforeTheMedian() {
    // The machine halved its speed in the second round; the ratio did not change.
    Summary ratio =
        Summary.ofPairs(List.of(200.0, 100.0, 220.0), List.of(100.0, 50.0, 100.0), (a, b) -> a / b);
    assertEquals(new Summary(2, 2, 2.2, 3), ratio);
  }

  @Test
  void sidesWithDifferentNumbersOfRunsAreRefused() {
    IllegalArgumentException refused =
        assertThrows(
            IllegalArgumentException.class,
            () -> Summary.ofPairs(List.of(1.0), List.of(1.0, 2.0), (a, b) -> a - b));
    assertEquals("1 runs against 2", refused.getMessage());
  }

  @Test
  void textsHaveThreeDigitsOrTheWholeNumber() {
    assertEquals("1.50 (0.012 … 12,346)", new Summary(1.5, 0.0123, 12_345.6, 3).text());
    assertEquals("-12.3 (-0.50 … 0)", new Summary(-12.34, -0.5, 0, 3).text());
  }
}
