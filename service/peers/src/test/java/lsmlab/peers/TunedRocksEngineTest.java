package lsmlab.peers;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.ValueLayout;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
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

  /**
   * A virtual thread lives for one request, so it would allocate and discard buffers of its own for
   * each.
   */
  @Test
  void virtualThreadsShareDirectBuffers(@TempDir Path directory) throws Exception {
    int threads = 4_000;
    try (Engine engine =
            TunedRocksEngine.open(LsmOptions.builder(directory.resolve("store")).build());
        ExecutorService virtual = Executors.newVirtualThreadPerTaskExecutor()) {
      long before = directBuffers();
      List<Future<byte[]>> found = new ArrayList<>();
      for (int i = 0; i < threads; i++) {
        byte[] key = ("key" + i).getBytes(StandardCharsets.UTF_8);
        found.add(
            virtual.submit(
                () -> {
                  engine.put(key, key);
                  return engine.get(key);
                }));
      }
      for (int i = 0; i < threads; i++) {
        assertArrayEquals(("key" + i).getBytes(StandardCharsets.UTF_8), found.get(i).get());
      }
      long made = directBuffers() - before;
      assertTrue(made < threads / 4, made + " direct buffers for " + threads + " threads");
    }
  }

  private static long directBuffers() {
    return ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
        .filter(pool -> pool.getName().equals("direct"))
        .mapToLong(BufferPoolMXBean::getCount)
        .sum();
  }
}
