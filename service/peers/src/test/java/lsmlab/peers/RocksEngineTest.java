package lsmlab.peers;

import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import lsmlab.storage.CompactionStrategy;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.WriteBatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** {@code engine: rocksdb} keeps the contract. */
class RocksEngineTest extends EngineContract {

  RocksEngineTest() {
    super("rocksdb");
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void aBatchIsOneRecord(@TempDir Path directory) throws IOException {
    try (RocksEngine engine =
        RocksEngine.open(LsmOptions.builder(directory.resolve("store")).build())) {
      WriteBatch batch = new WriteBatch();
      byte[] pair = new byte[2];
      for (int i = 0; i < 1000; i++) {
        batch.put(new byte[] {(byte) i, (byte) (i >> 8)}, 0, 2, pair, 0, 2);
      }
      final long before = writeCalls();
      engine.write(batch);
      long calls = writeCalls() - before;
      assertTrue(calls < 100, calls + " write calls for 1,000 writes");
    }
  }

  @Test
  void comesToRestWithoutCompaction(@TempDir Path directory) {
    LsmOptions options =
        LsmOptions.builder(directory.resolve("store")).compaction(CompactionStrategy.OFF).build();
    try (RocksEngine engine = RocksEngine.open(options)) {
      for (int table = 0; table < 6; table++) {
        engine.put(new byte[] {(byte) table}, new byte[10]);
        engine.flush();
      }
      assertTimeoutPreemptively(Duration.ofSeconds(20), engine::quiesce);
    }
  }

  /** Returns the number of write calls that this process has made so far. */
  private static long writeCalls() throws IOException {
    return Files.readAllLines(Path.of("/proc/self/io")).stream()
        .filter(line -> line.startsWith("syscw: "))
        .mapToLong(line -> Long.parseLong(line.substring("syscw: ".length())))
        .findFirst()
        .orElseThrow();
  }
}
