package lsmlab.peers;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.WriteBatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code engine: mvstore} keeps the contract. */
class MvStoreEngineTest extends EngineContract {

  MvStoreEngineTest() {
    super("mvstore");
  }

  @Test
  void aBatchIsCommittedOnce(@TempDir Path directory) {
    try (MvStoreEngine engine =
        MvStoreEngine.open(LsmOptions.builder(directory.resolve("store")).build())) {
      WriteBatch batch = new WriteBatch();
      for (byte i = 0; i < 100; i++) {
        batch.put(new byte[] {i}, 0, 1, new byte[] {i}, 0, 1);
      }
      final long before = engine.stats().flushes();
      engine.write(batch);
      assertEquals(before + 1, engine.stats().flushes());
    }
  }
}
