package lsmlab.server.metrics;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import lsmlab.server.variant.Variant;
import lsmlab.server.variant.VariantSettings;
import lsmlab.server.variant.Variants;
import lsmlab.storage.CompactionStrategy;
import lsmlab.storage.Engine;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.engines.Engines;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MetricsPageTest {

  private final ServiceMetrics metrics = new ServiceMetrics();
  private final Variant variant =
      Variants.find("sync").orElseThrow().factory().apply(new VariantSettings(1, 1, 1));
  private final Engine engine =
      Engines.find("null")
          .orElseThrow()
          .factory()
          .open(LsmOptions.builder(Path.of("unused")).build());
  private final MetricsPage page =
      new MetricsPage(metrics, variant, engine::stats, Map.of("odd", "a\"b\\c\nd"));

  private void serve() {
    for (Method method : Method.values()) {
      metrics.recorder().count(method, 200);
      for (Stage stage : Stage.values()) {
        metrics.recorder().time(method, stage, 40_000);
      }
    }
  }

  @Test
  void bucketsAreCumulativeAndTheLastCountsAllRequests() {
    serve();
    String text = page.render();
    String series = "lsmlab_request_seconds_bucket{method=\"get\",stage=\"queue_wait\",le=";
    assertTrue(text.contains(series + "\"3.75E-5\"} 0\n"), text);
    assertTrue(text.contains(series + "\"5.0E-5\"} 1\n"), text);
    assertTrue(text.contains(series + "\"10.0\"} 1\n"), text);
    assertTrue(text.contains(series + "\"+Inf\"} 1\n"), text);
    assertTrue(
        text.contains("lsmlab_request_seconds_sum{method=\"get\",stage=\"queue_wait\"} 4.0E-5\n"),
        text);
    assertTrue(text.contains("lsmlab_service_info{odd=\"a\\\"b\\\\c\\nd\"} 1\n"), text);
  }

  @Test
  void aStatusWithoutACounterIsCountedAsAnother() {
    metrics.recorder().count(Method.GET, 418);
    String text = page.render();
    assertTrue(text.contains("lsmlab_requests_total{method=\"get\",status=\"other\"} 1\n"), text);
  }

  @Test
  void aScrapeShowsEngineJvmAndProcess() {
    String text = page.render();
    for (String series :
        List.of(
            "lsmlab_flushes_total 0",
            "lsmlab_rejected_total{reason=\"queue_full\"} 0",
            "jvm_memory_used_bytes{area=\"heap\"} ",
            "jvm_gc_collection_seconds_sum{gc=",
            "jvm_threads_current ",
            "jvm_allocated_bytes_total ",
            "jvm_safepoint_seconds_total ",
            "process_cpu_seconds_total ",
            "process_resident_memory_bytes ")) {
      assertTrue(text.contains("\n" + series), series + " in\n" + text);
    }
  }

  @Test
  void aScrapeAllocatesAFewTimesTheSizeOfItsText() {
    serve();
    int length = page.render().length();
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long least = Long.MAX_VALUE;
    for (int i = 0; i < 5; i++) {
      long before = threads.getCurrentThreadAllocatedBytes();
      page.render();
      least = Math.min(least, threads.getCurrentThreadAllocatedBytes() - before);
    }
    assertTrue(length > 50_000, "a full page has " + length + " bytes");
    assertTrue(least < 10L * length, least + " bytes allocated for " + length);
  }

  @Test
  void aTreeShowsItsLevelsAndItsAmplifications(@TempDir Path directory) {
    LsmOptions options =
        LsmOptions.builder(directory.resolve("store")).compaction(CompactionStrategy.OFF).build();
    try (Engine tree = Engines.find("lsm").orElseThrow().factory().open(options)) {
      MetricsPage treePage = new MetricsPage(metrics, variant, tree::stats, Map.of("a", "b"));
      String fresh = treePage.render();
      assertTrue(fresh.contains("\nlsmlab_level_tables{level=\"6\"} 0\n"), fresh);
      assertTrue(!fresh.contains("\nlsmlab_space_amplification "), fresh);
      byte[] key = {1};
      tree.put(key, new byte[99]);
      tree.flush();
      tree.get(key);
      tree.compact();
      String text = treePage.render();
      for (String series :
          List.of(
              "lsmlab_level_tables{level=\"0\"} 0",
              "lsmlab_level_tables{level=\"6\"} 1",
              "lsmlab_level_bytes{level=\"6\"} ",
              "lsmlab_level_score{level=\"6\"} 0",
              "lsmlab_level_written_bytes_total{level=\"0\"} ",
              "lsmlab_level_read_bytes_total{level=\"0\"} ",
              "lsmlab_accepted_bytes_total 100",
              "lsmlab_table_lookups_total 1",
              "lsmlab_table_searches_total 1",
              "lsmlab_read_amplification 1",
              "lsmlab_space_amplification 1",
              "lsmlab_write_amplification ",
              "lsmlab_write_stall_seconds_total{cause=\"level0_full\"} 0")) {
        assertTrue(text.contains("\n" + series), series + " in\n" + text);
      }
    }
  }
}
