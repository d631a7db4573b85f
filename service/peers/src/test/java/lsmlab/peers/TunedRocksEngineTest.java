package lsmlab.peers;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.Stream;
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

  /** A setting that does not reach RocksDB would make it a slower peer than the tables say. */
  @Test
  void rocksDbReportsTheTunedSettings(@TempDir Path directory) throws IOException {
    LsmOptions options =
        LsmOptions.builder(directory.resolve("store"))
            .flushThresholdBytes(1 << 20)
            .memtablesMax(3)
            .build();
    try (Engine engine = TunedRocksEngine.open(options)) {
      Set<String> settings = settings(options.directory());
      for (String wanted :
          List.of(
              "write_buffer_size=1048576",
              "max_write_buffer_number=4", // one active memtable and three sealed ones
              "memtable_prefix_bloom_size_ratio=0.100000",
              "memtable_whole_key_filtering=true",
              "recycle_log_file_num=2",
              "bytes_per_sync=1048576",
              "data_block_index_type=kDataBlockBinaryAndHash",
              "use_direct_reads=false",
              "use_direct_io_for_flush_and_compaction=false")) {
        assertTrue(settings.contains(wanted), wanted + " is not among " + settings);
      }
      engine.put(new byte[] {1}, new byte[] {2});
      engine.flush();
      String log = Files.readString(options.directory().resolve("LOG"));
      assertTrue(log.contains("HyperClockCache"), "another block cache");
    }
  }

  @Test
  void dataLargerThanMemoryBypassesThePageCache(@TempDir Path directory) throws IOException {
    LsmOptions options = LsmOptions.builder(directory.resolve("store")).build();
    System.setProperty(TunedRocksEngine.DIRECT_CACHE_PROPERTY, "50000000");
    try (Engine engine = TunedRocksEngine.open(options)) {
      engine.put(new byte[] {1}, new byte[] {2});
      engine.flush();
      assertArrayEquals(new byte[] {2}, engine.get(new byte[] {1}));
      Set<String> settings = settings(options.directory());
      assertTrue(settings.contains("use_direct_reads=true"), settings.toString());
      assertTrue(
          settings.contains("use_direct_io_for_flush_and_compaction=true"), settings.toString());
      String log = Files.readString(options.directory().resolve("LOG"));
      assertTrue(log.contains("capacity : 50000000"), "another size of the block cache");
    } finally {
      System.clearProperty(TunedRocksEngine.DIRECT_CACHE_PROPERTY);
    }
  }

  /** Returns the lines {@code key=value} of the file of options that RocksDB keeps in its store. */
  private static Set<String> settings(Path store) throws IOException {
    try (Stream<Path> files = Files.list(store)) {
      Path options =
          files
              .filter(file -> file.getFileName().toString().startsWith("OPTIONS-"))
              .max(Comparator.naturalOrder())
              .orElseThrow();
      return Files.readAllLines(options).stream().map(String::strip).collect(Collectors.toSet());
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
