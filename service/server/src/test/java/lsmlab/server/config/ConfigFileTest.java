package lsmlab.server.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import lsmlab.server.request.RequestParsing;
import lsmlab.server.variant.queue.IdleStrategy;
import lsmlab.server.variant.queue.QueuePolicy;
import lsmlab.storage.CompactionStrategy;
import lsmlab.storage.Compression;
import lsmlab.storage.Durability;
import lsmlab.storage.FlushBacklog;
import lsmlab.storage.ReadPath;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ConfigFileTest {

  @Test
  void oneKeyIsEnough() throws ConfigException {
    ServiceConfig config = ConfigFile.parse("service.yaml", "data_dir: store");
    assertEquals(Path.of("store"), config.dataDir());
    assertEquals(8080, config.dataPort());
    assertEquals("lsm", config.engine());
    assertEquals("sync", config.variant());
    assertEquals(Runtime.getRuntime().availableProcessors(), config.selectors());
    assertEquals(Durability.PROCESS, config.durability());
    assertEquals(64L << 20, config.flushThresholdBytes());
    assertEquals(CompactionStrategy.LEVELED, config.compaction());
    assertEquals(0, config.compactionBytesPerSecondMax());
    assertEquals(IdleStrategy.PARK, config.idle());
    assertEquals(16, config.batch());
    assertEquals(0, config.carriers());
    assertEquals(0, config.refusalsPerSecondMax());
  }

  @Test
  void everyKeyIsRead() throws ConfigException {
    ServiceConfig config =
        ConfigFile.parse(
            "service.yaml",
            """
            data_host: 0.0.0.0
            data_port: 1
            admin_host: 127.0.0.2
            admin_port: 2
            data_dir: /store
            engine: memory
            variant: stack
            selectors: 3
            workers: 4
            queue_capacity: 5
            deadline_ms: 6
            durability: power
            flush_threshold_bytes: 4097
            flush_threads: 7
            memtables_max: 8
            compaction: tiered
            level0_tables_max: 12
            fanout: 13
            block_bytes: 8192
            bloom_bits_per_key: 0
            compaction_bytes_per_second_max: 11
            compression: lz4
            max_value_bytes: 9
            max_connections: 10
            queue_policy: drop-oldest
            idle: yield
            batch: 12
            carriers: 13
            refusals_per_second_max: 14
            request: library
            request_metrics: off
            flush_backlog: unbounded
            read: merge
            bloom: on
            """);
    assertEquals(
        new ServiceConfig(
            "0.0.0.0",
            1,
            "127.0.0.2",
            2,
            Path.of("/store"),
            "memory",
            "stack",
            3,
            4,
            5,
            6,
            QueuePolicy.DROP_OLDEST,
            IdleStrategy.YIELD,
            12,
            13,
            14,
            RequestParsing.LIBRARY,
            Durability.POWER,
            4097,
            7,
            8,
            CompactionStrategy.TIERED,
            12,
            13,
            8192,
            0,
            Compression.LZ4,
            11,
            FlushBacklog.UNBOUNDED,
            ReadPath.MERGE,
            true,
            9,
            10,
            false),
        config);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "worker: 8|worker: unknown key; the keys are admin_host, admin_port, batch, block_bytes",
        "workers: 0|workers: 0 is not a whole number from 1 to 1024",
        "workers: 8.5|workers: 8.5 is not a whole number",
        "workers: '8'|workers: \"8\" is not a whole number",
        "workers: many|workers: \"many\" is not a whole number",
        "workers:|workers: null is not a whole number",
        "workers: 99999999999999999999|workers: 99999999999999999999 is not a whole number",
        "data_port: 65536|data_port: 65536 is not a whole number from 0 to 65535",
        "data_port: -1|data_port: -1 is not a whole number",
        "variant: fast|variant: \"fast\" is not one of sync, per-core, queue",
        "engine: rocks|engine: \"rocks\" is not one of lsm, memory, null",
        "engine: null|engine: null is not one of",
        "durability: all|durability: \"all\" is not one of process, power, none",
        "compression: zstd|compression: \"zstd\" is not one of none, lz4",
        "compaction: maybe|compaction: \"maybe\" is not one of leveled, tiered, off, on",
        "compaction_bytes_per_second_max: -1|is not a whole number from 0 to 1099511627776",
        "data_host: ''|data_host: \"\" is not a non-empty string",
        "flush_threshold_bytes: 64MiB|flush_threshold_bytes: \"64MiB\" is not a whole number",
        "max_value_bytes: [1]|max_value_bytes: [1] is not a whole number",
        "idle: spin|idle: \"spin\" is not one of park with variant sync",
        "idle: sleep|idle: \"sleep\" is not one of park with variant sync",
        "queue_policy: drop-late|queue_policy: \"drop-late\" is not one of reject-newest with variant sync",
        "flush_backlog: wait|flush_backlog: \"wait\" is not one of block, fail, unbounded",
        "read: scan|read: \"scan\" is not one of point, merge",
        "batch: 0|batch: 0 is not a whole number from 1 to 4096",
        "carriers: -1|carriers: -1 is not a whole number from 0 to 256",
        "refusals_per_second_max: -1|refusals_per_second_max: -1 is not a whole number from 0 to 1000000",
        "data_dir: b|Duplicate field 'data_dir'",
        "`a: [`|not valid YAML",
      })
  void whatCannotBeUsedIsNamed(String line, String message) {
    ConfigException e =
        assertThrows(
            ConfigException.class,
            () -> ConfigFile.parse("dir/service.yaml", "data_dir: a\n" + line));
    assertTrue(e.getMessage().startsWith("dir/service.yaml: "), e.getMessage());
    assertTrue(e.getMessage().contains(message), e.getMessage());
    assertEquals(1, e.getMessage().lines().count());
  }

  @Test
  void onlyTheLsmEngineCanDoWithoutItsWal() throws Exception {
    String text = "data_dir: a\ndurability: none\nengine: ";
    assertEquals(Durability.NONE, ConfigFile.parse("s.yaml", text + "lsm").durability());
    ConfigException e =
        assertThrows(ConfigException.class, () -> ConfigFile.parse("s.yaml", text + "textbook"));
    assertEquals(
        "s.yaml: durability: \"none\" is not one of process, power with engine textbook",
        e.getMessage());
  }

  @Test
  void aSecondDocumentIsRefusedInPlainWords() {
    ConfigException e =
        assertThrows(
            ConfigException.class,
            () -> ConfigFile.parse("s.yaml", "data_dir: a\n---\nworkers: 1\n"));
    assertEquals("s.yaml: not valid YAML (line 3): only one document is allowed", e.getMessage());
  }

  @Test
  void theDirectoryIsRequired() {
    for (String text : new String[] {"", "workers: 1", "# nothing\n"}) {
      ConfigException e =
          assertThrows(ConfigException.class, () -> ConfigFile.parse("s.yaml", text));
      assertTrue(e.getMessage().startsWith("s.yaml: data_dir: missing"), e.getMessage());
    }
  }

  @Test
  void aFileThatIsMissingOrNotAMappingIsRefused() {
    assertThrows(ConfigException.class, () -> ConfigFile.parse("s.yaml", "- data_dir"));
    ConfigException e =
        assertThrows(ConfigException.class, () -> ConfigFile.read(Path.of("/no/such.yaml")));
    assertTrue(e.getMessage().startsWith("/no/such.yaml: cannot be read"), e.getMessage());
  }
}
