package lsmlab.bench.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import org.junit.jupiter.api.Test;

class StolenTimeTest {

  @Test
  void itIsTheEighthColumnAndGuestsAreNotCountedTwice() throws IOException {
    StolenTime earlier = StolenTime.of("cpu  100 10 50 800 20 0 10 10 40 4");
    assertEquals(new StolenTime(10, 1000), earlier);
    StolenTime later = StolenTime.of("cpu  150 10 60 810 20 0 20 30 90 4");
    assertEquals(0.2, later.shareSince(earlier), 1e-9);
    assertEquals(0, earlier.shareSince(earlier), 0);
  }

  @Test
  void anotherLineIsRefused() {
    assertThrows(IOException.class, () -> StolenTime.of("cpu0 1 2 3 4 5 6 7 8 9 10"));
    assertThrows(IOException.class, () -> StolenTime.of("cpu 1 2 3 4 5 6 7"));
  }

  @Test
  void theSystemsOwnCanBeRead() throws IOException {
    StolenTime now = StolenTime.now();
    assertTrue(now.all() > 0 && now.stolen() >= 0 && now.stolen() <= now.all(), now.toString());
  }
}
