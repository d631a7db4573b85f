package lsmlab.server;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import lsmlab.server.config.ServiceConfig;
import lsmlab.storage.CompactionStrategy;
import lsmlab.storage.Durability;
import lsmlab.storage.Engine;
import lsmlab.storage.Keeps;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.Scan;
import lsmlab.storage.engines.Engines;
import lsmlab.storage.file.OsStoreDirectory;
import lsmlab.storage.file.StoreDirectory;
import lsmlab.storage.manifest.Manifest;
import lsmlab.storage.manifest.TableEntry;
import lsmlab.storage.table.Table;
import lsmlab.storage.textbook.TextbookEngine;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Opens the engine that a configuration names. Every engine starts with the same pairs.
 *
 * <p>The LSM engine's files are in the data directory itself; any other persistent engine uses the directory {@code
 * data_dir/<engine>}. A dataset is a store of the LSM engine. If another engine is empty and there is a dataset, its
 * pairs are copied into that engine before the service is ready. An interrupted copy starts again from the beginning.
 */
final class StoreOpener {

  private static final Logger log = LoggerFactory.getLogger(StoreOpener.class);

  /** Name of the engine whose files are directly in the data directory. */
  private static final String NATIVE = "lsm";

  private static final int PAIRS_PER_LOOK = 1_024;
  private static final long PROGRESS_NANOS = 1_000_000_000;

  private StoreOpener() {}

  /**
   * Opens the engine. Returns once it holds the pairs of the dataset.
   *
   * @throws IOException if files cannot be read, moved or deleted
   * @throws RuntimeException if the engine's factory throws it
   */
  static Engine open(ServiceConfig config) throws IOException {
    Engines.Entry entry = Engines.find(config.engine()).orElseThrow();
    Path own = config.dataDir();
    if (entry.name().equals(NATIVE)) {
      return entry.factory().open(options(config, own));
    }
    boolean dataset = Files.exists(config.dataDir().resolve(Manifest.NAME));
    if (!entry.persistent()) {
      Engine engine = entry.factory().open(options(config, own));
      if (dataset) {
        copyOrClose(config, engine);
      }
      return engine;
    }
    own = config.dataDir().resolve(entry.name());
    if (dataset && Files.notExists(own)) {
      Path unfinished = config.dataDir().resolve(entry.name() + ".part");
      delete(unfinished);
      try (Engine engine = entry.loader().open(options(config, unfinished))) {
        copyDataset(config, engine);
      }
      Files.move(unfinished, own);
    }
    return entry.factory().open(options(config, own));
  }

  /** Returns what acknowledged writes survive with this configuration. */
  static Keeps keeps(ServiceConfig config) {
    Keeps keeps = Engines.find(config.engine()).orElseThrow().keeps();
    return config.durability() == Durability.NONE ? Keeps.CLOSED : keeps;
  }

  private static void copyOrClose(ServiceConfig config, Engine engine) throws IOException {
    try {
      copyDataset(config, engine);
    } catch (IOException | RuntimeException | Error e) {
      engine.close();
      throw e;
    }
  }

  private static void copyDataset(ServiceConfig config, Engine to) throws IOException {
    long start = System.nanoTime();
    long told = start;
    long pairs = 0;
    long total = pairs(new OsStoreDirectory(config.dataDir()));
    LsmOptions readOnly =
        LsmOptions.builder(config.dataDir()).compaction(CompactionStrategy.OFF).build();
    try (Engine from = Engines.find(NATIVE).orElseThrow().factory().open(readOnly);
        Scan scan = from.scan(new byte[0], null)) {
      while (scan.next()) {
        to.put(
            scan.key().toArray(ValueLayout.JAVA_BYTE), scan.value().toArray(ValueLayout.JAVA_BYTE));
        pairs++;
        if (pairs % PAIRS_PER_LOOK == 0 && System.nanoTime() - told >= PROGRESS_NANOS) {
          told = System.nanoTime();
          log.info(
              "copying the dataset into engine {}: {} of {} pairs", config.engine(), pairs, total);
        }
      }
    }
    log.info(
        "{} pairs of the dataset copied into engine {} in {} ms",
        pairs,
        config.engine(),
        (System.nanoTime() - start) / 1_000_000);
  }

  /** Returns the number of pairs in the tables of a dataset, which hold each key once. */
  private static long pairs(StoreDirectory dataset) throws IOException {
    long pairs = 0;
    try (Manifest manifest = Manifest.read(dataset)) {
      for (TableEntry entry : manifest.tables()) {
        Table table = Table.open(dataset, entry.number());
        pairs += table.entries();
        table.release();
      }
    }
    return pairs;
  }

  private static LsmOptions options(ServiceConfig config, Path directory) {
    return LsmOptions.builder(directory)
        .durability(config.durability())
        .flushThresholdBytes(config.flushThresholdBytes())
        .flushThreads(config.flushThreads())
        .memtablesMax(config.memtablesMax())
        .compaction(config.compaction())
        .level0TablesMax(config.level0TablesMax())
        .fanout(config.fanout())
        .blockBytes(config.blockBytes())
        .bloomBitsPerKey(bloomBitsPerKey(config))
        .compression(config.compression())
        .compactionBytesPerSecondMax(config.compactionBytesPerSecondMax())
        .flushBacklog(config.flushBacklog())
        .readPath(config.read())
        .build();
  }

  private static int bloomBitsPerKey(ServiceConfig config) {
    if (config.engine().equals(TextbookEngine.NAME)) {
      return config.bloom() ? TextbookEngine.BLOOM_BITS_PER_KEY : 0;
    }
    return config.bloomBitsPerKey();
  }

  private static void delete(Path directory) throws IOException {
    if (Files.notExists(directory)) {
      return;
    }
    List<Path> files;
    try (Stream<Path> walk = Files.walk(directory)) {
      files = walk.sorted(Comparator.reverseOrder()).toList();
    } catch (UncheckedIOException e) {
      throw e.getCause();
    }
    for (Path file : files) {
      Files.delete(file);
    }
  }
}
