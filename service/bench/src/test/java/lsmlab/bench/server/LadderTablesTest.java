package lsmlab.bench.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import lsmlab.bench.harness.Figures;
import org.junit.jupiter.api.Test;

class LadderTablesTest {

  private final Figures figures = new Figures(System.err);

  private void add(String contestant, double rate, double cpu) {
    for (String method : List.of("get", "put")) {
      figures.add(contestant, method + "_rate", rate);
      figures.add(contestant, method + "_cpu", cpu);
    }
  }

  private void addAll(double nullCpu, double lsmCpu, double queueRate) {
    add(Contestant.NOOP, 150_000, 6);
    add(Contestant.NULL, 140_000, nullCpu);
    add(Contestant.NOOP_WITH_VALUE, 140_000, 6.2);
    add(Contestant.MEMORY, 120_000, 7);
    add(Contestant.LSM, 100_000, lsmCpu);
    add(Contestant.ON_SELECTOR, 110_000, 9);
    add(Contestant.WITH_POOL, 80_000, 12);
    add("queue", queueRate, 13);
  }

  private String tables() {
    return LadderTables.of(figures, List.of("sync", "queue"), false);
  }

  @Test
  void figuresWithinTheirTargetsMeetThem() {
    addAll(6.6, 8.6, 72_000);
    String tables = tables();
    assertFalse(tables.contains("**not met**"), tables);
    // null and lsm with GET, null with PUT, two variants with each
    assertEquals(7, tables.split("\\| met \\|", -1).length - 1, tables);
    assertTrue(tables.contains("| `null` | 140,000 (140,000 … 140,000) | 6.60"), tables);
    assertTrue(tables.contains("native transport needs glibc 2.38"), tables);
  }

  @Test
  void figuresBeyondTheirTargetsAreMarked() {
    addAll(6.7, 8.8, 71_000);
    assertEquals(5, tables().split("\\*\\*not met\\*\\*", -1).length - 1, tables());
  }

  @Test
  void aVariantIsComparedWithThePeerThatHasItsHandOff() {
    assertEquals(Contestant.ON_SELECTOR, Contestant.peerOf("sync"));
    assertEquals(Contestant.WITH_POOL, Contestant.peerOf("queue"));
    addAll(6, 8, 80_000);
    String tables = tables();
    assertTrue(tables.contains("| 0.91 (0.91 … 0.91) | selector |"), tables);
    assertTrue(tables.contains("| 1 (1 … 1) | pool |"), tables);
  }

  @Test
  void theNativeTransportAddsALadderWithJavasSockets() {
    List<String> all = Contestant.all(List.of("sync", "queue"), true);
    assertEquals(2 * Contestant.LADDER.size() + 1, all.size());
    Contestant last = Contestant.named(all.getLast());
    assertTrue(last.javaSockets());
    assertEquals(Contestant.Kind.FORTY_LINES_WITH_POOL, last.kind());
    assertFalse(Contestant.named("queue").javaSockets());
    assertEquals("\"lsm\"", Contestant.named("queue").keys().get("engine"));
    assertEquals("\"null\"", Contestant.named(Contestant.NULL).keys().get("engine"));
  }
}
