package lsmlab.storage.lsm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import lsmlab.storage.CorruptionException;
import lsmlab.storage.Durability;
import lsmlab.storage.Engine;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.ReadOnlyException;
import lsmlab.storage.file.SimulatedDirectory;
import lsmlab.storage.file.SimulatedDirectory.Operation;
import lsmlab.storage.manifest.Manifest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Which lost logs a start notices, and that it does not miss a log that never existed. */
class LogLossTest {

  private static LsmOptions options(Durability durability) {
    return LsmOptions.builder(Path.of("unused"))
        .durability(durability)
        .flushThresholdBytes(1_000)
        .memtablesMax(8)
        .build();
  }

  /** Returns a store of several logs, because no table can be created. */
  private static SimulatedDirectory store(Durability durability, boolean closed) {
    SimulatedDirectory directory = new SimulatedDirectory();
    directory.setFault(
        (operation, name) -> {
          if (operation == Operation.CREATE && name.endsWith(".sst")) {
            throw new IOException("No space left on device");
          }
        });
    Engine engine = LsmEngine.open(options(durability), directory);
    for (int i = 0; i < 20; i++) {
      engine.put(("key" + i).getBytes(StandardCharsets.UTF_8), new byte[200]);
    }
    SimulatedDirectory killed = directory.afterKill();
    engine.close();
    return closed ? directory.afterKill() : killed;
  }

  /** Returns the logs that hold pairs, oldest first. */
  private static List<String> logs(SimulatedDirectory directory) {
    List<String> logs = new ArrayList<>(directory.names(".wal"));
    logs.removeIf(log -> directory.content(log).length == 0);
    assertTrue(logs.size() >= 4, logs.toString());
    return logs;
  }

  private static int pairs(SimulatedDirectory directory, Durability durability) {
    try (Engine engine = LsmEngine.open(options(durability), directory)) {
      return History.contents(engine, "").size();
    }
  }

  @ParameterizedTest
  @CsvSource({
    "POWER, true, true", "PROCESS, true, true",
    "POWER, false, true", "PROCESS, false, false",
  })
  void aMissingMiddleLogIsRefusedUnlessALossOfPowerMayBeTheCause(
      Durability durability, boolean closed, boolean refused) throws IOException {
    SimulatedDirectory directory = store(durability, closed);
    String lost = logs(directory).get(2);
    directory.delete(lost);
    if (refused) {
      CorruptionException e =
          assertThrows(CorruptionException.class, () -> pairs(directory, durability));
      assertTrue(e.getMessage().contains(lost + " is missing"), e.getMessage());
    } else {
      int pairs = pairs(directory, durability);
      assertTrue(pairs > 0 && pairs < 20, pairs + " pairs: those before the lost log");
    }
  }

  @ParameterizedTest
  @CsvSource({
    "POWER, true, true", "PROCESS, true, true",
    "POWER, false, false", "PROCESS, false, false",
  })
  void aMissingNewestLogIsRefusedAfterACleanStop(
      Durability durability, boolean closed, boolean refused) throws IOException {
    SimulatedDirectory directory = store(durability, closed);
    String lost = logs(directory).getLast();
    directory.delete(lost);
    if (refused) {
      CorruptionException e =
          assertThrows(CorruptionException.class, () -> pairs(directory, durability));
      assertTrue(e.getMessage().contains(lost + " is missing"), e.getMessage());
    } else {
      int pairs = pairs(directory, durability);
      assertTrue(pairs > 0 && pairs <= 20, pairs + " pairs: those before the lost log");
    }
  }

  @ParameterizedTest
  @EnumSource(value = Durability.class, names = "NONE", mode = EnumSource.Mode.EXCLUDE)
  void theMissingFirstLogOfAStartIsRefusedAfterAKill(Durability durability) throws IOException {
    SimulatedDirectory directory = store(durability, false);
    directory.delete(logs(directory).getFirst());
    assertThrows(CorruptionException.class, () -> pairs(directory, durability));
  }

  /** The disk was full at the start and had space again before the next stop. No write arrived. */
  @ParameterizedTest
  @EnumSource(value = Durability.class, names = "NONE", mode = EnumSource.Mode.EXCLUDE)
  void aLogThatWasNeverCreatedIsNotMissed(Durability durability) {
    SimulatedDirectory directory = store(durability, false);
    directory.setFault(LogLossTest::noSpaceForLogs);
    try (Engine engine = LsmEngine.open(options(durability), directory)) {
      engine.quiesce();
      assertTrue(engine.stats().flushes() > 0);
    }
    directory.setFault((operation, name) -> {});
    assertEquals(20, pairs(directory, durability));
  }

  /** A clean stop makes everything durable, also under {@code process}. */
  @Test
  void aLossOfPowerAfterACleanStopLosesNothing() {
    SimulatedDirectory directory = store(Durability.PROCESS, true);
    assertEquals(20, pairs(directory.certain(), Durability.PROCESS));
  }

  /** Returns a store whose only log, with one pair, has never been synced, nor has its name. */
  private static SimulatedDirectory unsyncedStore() {
    SimulatedDirectory directory = new SimulatedDirectory();
    directory.setFault(LogLossTest::noSpaceForLogs);
    Engine engine = LsmEngine.open(options(Durability.PROCESS), directory);
    directory.setFault((operation, name) -> {});
    engine.put(new byte[1], new byte[200]);
    SimulatedDirectory killed = directory.afterKill();
    engine.close();
    return killed;
  }

  private static void noSpaceForLogs(Operation operation, String name) throws IOException {
    if (operation == Operation.CREATE && name.endsWith(".wal")) {
      throw new IOException("No space left on device");
    }
  }

  /** Readers have seen it. */
  @ParameterizedTest
  @EnumSource(value = Durability.class, names = "NONE", mode = EnumSource.Mode.EXCLUDE)
  void whatAStartFoundSurvivesALossOfPower(Durability durability) {
    SimulatedDirectory directory = unsyncedStore();
    directory.setFault(
        (operation, name) -> {
          noSpaceForLogs(operation, name);
          if (Thread.currentThread().getName().startsWith("lsmlab-flush")) {
            throw new IOException("no table is begun, which would sync the directory");
          }
        });
    try (Engine engine = LsmEngine.open(options(durability), directory)) {
      assertEquals(1, History.contents(engine, "").size());
    }
    assertEquals(1, pairs(directory.certain(), durability));
  }

  /**
   * A loss of power empties a log and leaves a table that was flushed from it and not published.
   * The start deletes both. A second loss of power must not keep the table alone, which would mean
   * that the manifest had lost a record.
   */
  @Test
  void theTableOfADroppedLogIsDeletedBeforeTheLog() {
    SimulatedDirectory directory = new SimulatedDirectory();
    directory.setFault(LogLossTest::noSpaceForLogs);
    SimulatedDirectory left;
    try (Engine engine = LsmEngine.open(options(Durability.PROCESS), directory)) {
      directory.setFault(
          (operation, name) -> {
            if (operation == Operation.WRITE && name.startsWith(Manifest.NAME)) {
              throw new IOException("No space left on device");
            }
          });
      engine.put(new byte[1], new byte[200]);
      assertThrows(ReadOnlyException.class, engine::flush);
      left = directory.certain();
      directory.setFault((operation, name) -> {});
    }
    assertEquals(1, left.names(".sst").size());
    assertEquals(0, left.bytes(".wal"));
    left.setFault(LogLossTest::noSpaceForLogs);
    LsmEngine.open(options(Durability.PROCESS), left).close();
    assertEquals(List.of(), left.names(".sst"));
    assertEquals(List.of(), left.names(".wal"));
    for (int seed = 0; seed < 50; seed++) {
      pairs(left.losePower(new SplittableRandom(seed)), Durability.PROCESS);
    }
  }
}
