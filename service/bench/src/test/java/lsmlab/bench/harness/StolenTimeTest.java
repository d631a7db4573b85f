package lsmlab.bench.harness;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class StolenTimeTest {

  private static final Set<String> ALL = Set.of("cpu");

  @Test
  void stealIsTheEighthColumnAndGuestsAreNotCountedTwice() throws IOException {
    StolenTime earlier = StolenTime.of(List.of("cpu  100 10 50 800 20 0 10 10 40 4"), ALL);
    assertEquals(new StolenTime(10, 1000), earlier);
    StolenTime later = StolenTime.of(List.of("cpu  150 10 60 810 20 0 20 30 90 4"), ALL);
    assertEquals(0.2, later.shareSince(earlier), 1e-9);
    assertEquals(0, earlier.shareSince(earlier), 0);
  }

  @Test
  void onlyTheRequestedCpusCount() throws IOException {
    List<String> lines =
        List.of(
            "cpu  3 0 0 0 0 0 0 33 0 0",
            "cpu0 1 0 0 0 0 0 0 1 0 0",
            "cpu1 1 0 0 0 0 0 0 2 0 0",
            "cpu10 1 0 0 0 0 0 0 30 0 0",
            "intr 1 2 3");
    assertEquals(new StolenTime(3, 5), StolenTime.of(lines, Set.of("cpu0", "cpu1")));
    IOException missing =
        assertThrows(IOException.class, () -> StolenTime.of(lines, Set.of("cpu0", "cpu2")));
    assertTrue(missing.getMessage().contains("cpu2"), missing.getMessage());
  }

  @Test
  void aLineWithoutTheColumnIsRefused() {
    assertThrows(IOException.class, () -> StolenTime.of(List.of("cpu 1 2 3 4 5 6 7"), ALL));
  }

  @Test
  void theSystemsOwnCountersCanBeRead() throws IOException {
    StolenTime now = StolenTime.now();
    assertTrue(now.all() > 0 && now.stolen() >= 0 && now.stolen() <= now.all(), now.toString());
    assertTrue(StolenTime.now(Set.of(0)).all() <= StolenTime.now().all());
  }
}
