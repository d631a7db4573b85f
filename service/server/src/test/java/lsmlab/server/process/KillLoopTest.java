package lsmlab.server.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.SplittableRandom;
import lsmlab.server.http.Eventually;
import lsmlab.storage.file.OsStoreDirectory;
import lsmlab.storage.lsm.StoreVerifier;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * kill -9 under load, again and again, against a model outside the process. The number of kills is the system property
 * {@code lsmlab.kills}.
 */
class KillLoopTest {

  private static final int KILLS = Integer.getInteger("lsmlab.kills", 2);
  private static final int CLIENTS = 8;
  private static final int ACKNOWLEDGED_MIN = 500;

  @TempDir Path directory;

  @ParameterizedTest
  @ValueSource(strings = {"process", "power"})
  void acknowledgedWritesSurviveEveryKill(String durability) throws Exception {
    String[] config = {
      "durability: " + durability, "variant: queue", "flush_threshold_bytes: 200000"
    };
    SplittableRandom random = new SplittableRandom(durability.hashCode());
    PutLoad load = null;
    for (int kill = 0; kill < KILLS; kill++) {
      try (ServiceProcess service = ServiceProcess.serve(directory, config)) {
        if (load != null) {
          load.checkAndSettle(service);
        }
        load = new PutLoad(service, CLIENTS, load);
        PutLoad running = load;
        Eventually.equal(
            1, () -> running.acknowledged.get() > ACKNOWLEDGED_MIN ? 1 : 0, "acknowledged writes");
        Thread.sleep(random.nextInt(500));
        service.kill();
        load.join();
        assertEquals(CLIENTS, load.unanswered.get(), "each client's connection ended");
      }
    }
    try (ServiceProcess service = ServiceProcess.serve(directory, config)) {
      load.checkAndSettle(service);
      service.terminate();
      assertEquals(0, service.exitCode(), service.errors());
    }
    try (OsStoreDirectory store = new OsStoreDirectory(directory.resolve("store"))) {
      assertTrue(StoreVerifier.verify(store, file -> {}).tables() > 0);
    }
  }
}
