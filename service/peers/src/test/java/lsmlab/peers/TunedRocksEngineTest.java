package lsmlab.peers;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.Arrays;
import lsmlab.storage.Engine;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.Scan;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code engine: rocksdb-tuned} keeps the contract. */
class TunedRocksEngineTest extends EngineContract {

  TunedRocksEngineTest() {
    super("rocksdb-tuned");
  }

  @Test
  void keysAndValuesLargerThanItsBuffersComeBackWhole(@TempDir Path directory) {
    byte[] key = new byte[Engine.KEY_BYTES_MAX];
    byte[] value = new byte[100_000];
    Arrays.fill(key, (byte) 'k');
    Arrays.fill(value, (byte) 'v');
    try (Engine engine =
        TunedRocksEngine.open(LsmOptions.builder(directory.resolve("store")).build())) {
      engine.put(key, value);
      assertArrayEquals(value, engine.get(key));
      try (Scan scan = engine.scan(new byte[] {0}, null)) {
        assertTrue(scan.next());
        assertArrayEquals(key, scan.key().toArray(ValueLayout.JAVA_BYTE));
        assertArrayEquals(value, scan.value().toArray(ValueLayout.JAVA_BYTE));
      }
    }
  }
}
