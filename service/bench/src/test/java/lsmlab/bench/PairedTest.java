package lsmlab.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import lsmlab.bench.report.Comparison;
import lsmlab.bench.workload.Outcome;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PairedTest {

  @TempDir Path stores;
  private final List<String> calls = new ArrayList<>();

  @Test
  void enginesTakeTurnsAndTheOrderTurnsRound() throws Exception {
    Paired paired = paired((workload, engine) -> note(workload, engine, 1));
    paired.measure("get", List.of("lsm", "rocksdb"), 3);
    assertEquals(
        List.of("get lsm", "get rocksdb", "get rocksdb", "get lsm", "get lsm", "get rocksdb"),
        calls);
  }

  @Test
  void aStoreIsLoadedOnce() throws Exception {
    paired((workload, engine) -> note(workload, engine, 1)).load(List.of("lsm", "rocksdb"));
    paired((workload, engine) -> note(workload, engine, 1)).load(List.of("lsm", "rocksdb"));
    assertEquals(List.of("load lsm", "load rocksdb"), calls);
    Paired again = paired((workload, engine) -> note(workload, engine, 1));
    again.forget(List.of("lsm"));
    again.load(List.of("lsm", "rocksdb"));
    assertEquals(List.of("load lsm", "load rocksdb", "load lsm"), calls);
  }

  @Test
  void aFailedLoadIsNotTakenForAStore() throws Exception {
    Paired failing =
        paired(
            (workload, engine) -> {
              throw new IOException("killed");
            });
    assertThrows(IOException.class, () -> failing.load(List.of("lsm")));
    paired((workload, engine) -> note(workload, engine, 1)).load(List.of("lsm"));
    assertEquals(List.of("load lsm"), calls);
  }

  @Test
  void aReplayIsPrecededByFillingTheLog() throws Exception {
    paired((workload, engine) -> note(workload, engine, 1)).measure("replay", List.of("lsm"), 1);
    assertEquals(List.of("fill-log lsm", "replay lsm"), calls);
  }

  @Test
  void comparesTheFirstEngineWithEachOther() throws Exception {
    Paired paired =
        paired((workload, engine) -> note(workload, engine, engine.equals("lsm") ? 600 : 200));
    paired.measure("get", List.of("lsm", "rocksdb", "mvstore"), 2);
    List<Comparison> rows = paired.comparisons("lsm", "rocksdb");
    assertEquals(List.of("rocksdb", "mvstore"), rows.stream().map(Comparison::peerName).toList());
    assertEquals(3, rows.getFirst().ratio());
    assertEquals(2, rows.getFirst().runs());
  }

  private Outcome note(String workload, String engine, double figure) {
    calls.add(workload + " " + engine);
    return Outcome.of(Map.of("get_present_1t", figure));
  }

  private Paired paired(Paired.Runner runner) {
    Settings settings = new Settings(1_000, 100, 1, 1, 1, 1, 1, 1_000_000, stores);
    return new Paired(settings, runner, new PrintStream(new ByteArrayOutputStream()));
  }
}
