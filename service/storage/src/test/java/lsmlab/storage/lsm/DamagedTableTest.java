package lsmlab.storage.lsm;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import lsmlab.storage.CompactionStrategy;
import lsmlab.storage.CorruptionException;
import lsmlab.storage.Engine;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.ReadOnlyException;
import lsmlab.storage.file.SimulatedDirectory;
import lsmlab.storage.manifest.Manifest;
import lsmlab.storage.table.TableFormat;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A table with a damaged block is left out of compactions. It does not end writing. */
class DamagedTableTest {

  private static final int LEVEL0_STOP = 36;

  private final SimulatedDirectory directory = new SimulatedDirectory();

  private LsmEngine open(CompactionStrategy compaction) {
    return LsmEngine.open(
        LsmOptions.builder(Path.of("unused"))
            .compaction(compaction)
            .blockBytes(500)
            .tableBytes(2_000)
            .build(),
        directory);
  }

  private static byte[] key(int number) {
    return "key%06d".formatted(number).getBytes(StandardCharsets.UTF_8);
  }

  /** Adds a table that holds every pair. */
  private static void table(Engine engine) {
    for (int i = 0; i < 100; i++) {
      engine.put(key(i), new byte[100]);
    }
    engine.flush();
  }

  /** Makes four tables and changes a byte in the middle of the first one. */
  private String damagedStore() {
    try (Engine engine = open(CompactionStrategy.OFF)) {
      for (int i = 0; i < 4; i++) {
        table(engine);
      }
    }
    String name = directory.names(".sst").getFirst();
    byte[] content = directory.content(name);
    content[content.length / 2] ^= 1;
    directory.replace(name, content);
    return name;
  }

  private static void checkNames(String table, RuntimeException e) {
    for (String part : List.of("simulated/" + table + " at offset ", "restore the store")) {
      assertTrue(e.getMessage().contains(part), e.getMessage());
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void writesGoOnAfterEveryStart(int starts) {
    String table = damagedStore();
    for (int start = 1; start <= starts; start++) {
      try (Engine engine = open(CompactionStrategy.LEVELED)) {
        checkNames(table, assertThrows(CorruptionException.class, engine::quiesce));
        checkNames(table, assertThrows(CorruptionException.class, engine::compact));
        engine.put(key(1_000 + start), new byte[1]);
        assertArrayEquals(new byte[1], engine.get(key(1_000 + start)));
        assertNotNull(engine.get(key(99)));
      }
    }
  }

  @Test
  void aCompactionThatMeetsDamageLeavesNoFile() throws IOException {
    damagedStore();
    try (Engine engine = open(CompactionStrategy.OFF)) {
      assertThrows(CorruptionException.class, engine::compact);
    }
    List<String> named =
        Manifest.read(directory).tables().stream()
            .map(entry -> TableFormat.fileName(entry.number()))
            .sorted()
            .toList();
    assertEquals(named, directory.names(".sst"));
  }

  @Test
  void writesEndWhenLevelZeroIsFullAndNameTheDamage() {
    String table = damagedStore();
    try (Engine engine = open(CompactionStrategy.TIERED)) {
      assertThrows(CorruptionException.class, engine::quiesce);
      for (int tables = 4; tables < LEVEL0_STOP; tables++) {
        table(engine);
      }
      ReadOnlyException e =
          assertThrows(ReadOnlyException.class, () -> engine.put(key(1), new byte[1]));
      checkNames(table, e);
      assertNotNull(engine.get(key(99)));
    }
  }
}
