package lsmlab.storage.lsm;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.stream.Stream;
import lsmlab.storage.CompactionStrategy;
import lsmlab.storage.Compression;
import lsmlab.storage.CorruptionException;
import lsmlab.storage.Durability;
import lsmlab.storage.Engine;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.file.SimulatedDirectory;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Changes each byte of a small closed store with tables, a tombstone and a log, and cuts each file
 * at each length. Each result must be right or a clear error, never wrong.
 */
class DamageTest {

  private Compression compression = Compression.NONE;
  private Durability durability = Durability.POWER;

  private LsmOptions options() {
    return LsmOptions.builder(Path.of("unused"))
        .durability(durability)
        .compaction(CompactionStrategy.OFF)
        .blockBytes(200)
        .compression(compression)
        .build();
  }

  private final NavigableMap<String, String> expected = new TreeMap<>();

  private SimulatedDirectory store() {
    SimulatedDirectory directory = new SimulatedDirectory();
    try (Engine engine = LsmEngine.open(options(), directory)) {
      for (int i = 0; i < 12; i++) {
        put(engine, "key" + i, "value" + i);
      }
      if (compression == Compression.LZ4) {
        put(engine, "key-long", "-".repeat(300));
      }
      engine.flush();
      engine.delete("key3".getBytes(StandardCharsets.UTF_8));
      expected.remove("key3");
      put(engine, "key4", "other");
      engine.flush();
      for (int i = 20; i < 24; i++) {
        put(engine, "key" + i, "value" + i);
      }
    }
    return directory;
  }

  private void put(Engine engine, String key, String value) {
    engine.put(key.getBytes(StandardCharsets.UTF_8), value.getBytes(StandardCharsets.UTF_8));
    expected.put(key, value);
  }

  @ParameterizedTest
  @CsvSource({
    "NONE, POWER, 0x01",
    "NONE, POWER, 0x80",
    "NONE, POWER, 0xff",
    "NONE, PROCESS, 0x01",
    "LZ4, POWER, 0x01",
    "LZ4, POWER, 0xff"
  })
  void everyByteChanged(Compression compression, Durability durability, int mask)
      throws IOException {
    this.compression = compression;
    this.durability = durability;
    SimulatedDirectory sound = store();
    int errors = 0;
    for (String name : sound.list()) {
      byte[] content = sound.content(name);
      for (int i = 0; i < content.length; i++) {
        byte[] damaged = content.clone();
        damaged[i] ^= (byte) mask;
        SimulatedDirectory directory = sound.afterKill();
        directory.replace(name, damaged);
        boolean found = isRefused(directory, name + " byte " + i, List.of(expected));
        errors += found ? 1 : 0;
        if (!name.equals("MANIFEST")) {
          assertTrue(found, name + " byte " + i + " was not noticed");
        }
      }
    }
    assertTrue(errors > 1_000, "only " + errors + " changes were noticed");
  }

  @ParameterizedTest
  @CsvSource({"NONE, POWER", "NONE, PROCESS", "LZ4, POWER"})
  void aTruncatedFileNeverGivesWrongResults(Compression compression, Durability durability)
      throws IOException {
    this.compression = compression;
    this.durability = durability;
    SimulatedDirectory sound = store();
    for (String name : sound.list()) {
      byte[] content = sound.content(name);
      for (int length = 0; length < content.length; length++) {
        SimulatedDirectory directory = sound.afterKill();
        directory.replace(name, Arrays.copyOf(content, length));
        boolean refused = isRefused(directory, name + " cut to " + length, List.of(expected));
        assertTrue(
            refused || name.equals("MANIFEST"), name + " cut to " + length + " was not noticed");
      }
    }
  }

  @ParameterizedTest
  @EnumSource(value = Durability.class, names = "NONE", mode = EnumSource.Mode.EXCLUDE)
  void aMissingFileIsNoticed(Durability durability) throws IOException {
    this.durability = durability;
    SimulatedDirectory sound = store();
    for (String name : sound.list()) {
      SimulatedDirectory directory = sound.afterKill();
      directory.delete(name);
      assertTrue(
          isRefused(directory, name + " missing", List.of()), name + " missing was not noticed");
    }
  }

  /**
   * Opens and reads the store. Checks that each result is an allowed one or an error. Returns
   * whether there was an error.
   */
  private boolean isRefused(
      SimulatedDirectory directory, String what, List<NavigableMap<String, String>> allowed) {
    try (Engine engine = LsmEngine.open(options(), directory)) {
      NavigableMap<String, String> scanned = History.contents(engine, "");
      assertTrue(allowed.contains(scanned), what + ": a scan found " + scanned);
      for (int i = 0; i < 30; i++) {
        byte[] value = engine.get(("key" + i).getBytes(StandardCharsets.UTF_8));
        String text = value == null ? null : new String(value, StandardCharsets.UTF_8);
        assertTrue(
            java.util.Objects.equals(scanned.get("key" + i), text),
            what + ": key" + i + " " + text);
      }
      return false;
    } catch (CorruptionException e) {
      assertTrue(e.getMessage().contains("simulated/"), e.getMessage());
      boolean placed =
          Stream.of(
                  " at offset ",
                  " is missing",
                  " bytes, the manifest says",
                  "has lost its last records",
                  "inconsistent",
                  "version")
              .anyMatch(e.getMessage()::contains);
      assertTrue(placed, what + ": " + e.getMessage());
      return true;
    } catch (UncheckedIOException e) {
      assertTrue(e.getMessage().contains("cannot open the store"), e.getMessage());
      return true;
    } catch (RuntimeException e) {
      throw new AssertionError(what + ": " + e, e);
    }
  }
}
