package lsmlab.bench.harness;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class FiguresTest {

  private final Figures figures = new Figures(new PrintStream(new ByteArrayOutputStream()));

  @Test
  void theOrderReversesFromRoundToRound() throws Exception {
    List<String> order = new ArrayList<>();
    figures.measure(
        "rate",
        List.of("a", "b", "c"),
        3,
        name -> {
          order.add(name);
          return Map.of("rate", (double) order.size());
        });
    assertEquals(List.of("a", "b", "c", "c", "b", "a", "a", "b", "c"), order);
    assertEquals(List.of("a", "b", "c"), figures.contestants());
    assertEquals(List.of(1.0, 6.0, 7.0), figures.runs("a", "rate"));
    assertEquals(List.of(3.0, 4.0, 9.0), figures.runs("c", "rate"));
  }

  @Test
  void pairsAreOfTheSameRound() {
    List.of(10.0, 20.0, 40.0).forEach(value -> figures.add("ours", "cpu", value));
    List.of(9.0, 18.0, 50.0).forEach(value -> figures.add("theirs", "cpu", value));
    assertEquals(
        new Summary(1, -10, 2, 3), figures.paired("ours", "theirs", "cpu", (a, b) -> a - b));
    assertFalse(figures.has("theirs", "rate"));
  }

  @Test
  void aFailedMeasurementEndsTheRun() {
    assertThrows(
        IOException.class,
        () ->
            figures.measure(
                "rate",
                List.of("a"),
                1,
                name -> {
                  throw new IOException("no server");
                }));
  }
}
