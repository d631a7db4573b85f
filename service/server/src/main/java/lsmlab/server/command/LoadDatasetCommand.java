package lsmlab.server.command;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import lsmlab.storage.Compression;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.bulk.BulkLoader;
import lsmlab.storage.bulk.PairGenerator;
import lsmlab.storage.file.OsStoreDirectory;
import lsmlab.storage.table.TableLayout;
import lsmlab.storage.textbook.TextbookEngine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Creates a dataset. Exit codes: 0 if it was created, 1 after a failure, 2 for invalid arguments. */
@Command(
    name = "load-dataset",
    description =
        "Writes a closed store with generated pairs into a new directory. The same arguments give the same store."
            + " Prints one JSON object on stdout.",
    mixinStandardHelpOptions = true)
public final class LoadDatasetCommand implements Callable<Integer> {

  /**
   * Number of bytes that a pair takes in a table in addition to its key and value: in its block, in the index and in
   * the filter.
   */
  private static final int OVERHEAD_BYTES = 24;

  private static final ObjectMapper JSON = new ObjectMapper();

  @Spec private CommandSpec spec;

  @Option(
      names = "--dir",
      required = true,
      description = "Directory of the new store; it must be empty, or not exist yet.")
  private Path dir;

  @Option(names = "--pairs", required = true, description = "Number of pairs, 1 to 1000000000.")
  private long pairs;

  @Option(
      names = "--value-bytes",
      required = true,
      description =
          "Mean length of a value in bytes; lengths are uniform from 90 %% to 110 %% of it.")
  private int valueBytes;

  @Option(
      names = "--seed",
      required = true,
      description = "Seed of the values: the same seed gives the same values.")
  private long seed;

  @Option(
      names = "--engine",
      defaultValue = "lsm",
      description =
          "Engine whose store is written: lsm, from which any engine can copy the pairs, or textbook (default: ${DEFAULT-VALUE}).")
  private String engine;

  @Option(
      names = "--tables",
      defaultValue = "8",
      description =
          "Number of tables over which the pairs are spread evenly (default: ${DEFAULT-VALUE}).")
  private int tables;

  @Option(
      names = "--overlapping",
      description =
          "Give each table keys from the whole range, in level 0: a lookup may have to search every table.")
  private boolean overlapping;

  @Option(
      names = "--unique-percent",
      defaultValue = "100",
      description =
          "Percentage of a value that is random, 1 to 100; the rest repeats that part (default: ${DEFAULT-VALUE}).")
  private int uniquePercent;

  @Option(
      names = "--one-byte-pairs",
      defaultValue = "0",
      description =
          "Number of pairs, from the first one on, whose value has one byte (default: ${DEFAULT-VALUE}).")
  private long oneBytePairs;

  @Option(
      names = "--block-bytes",
      defaultValue = "4096",
      description =
          "Size in bytes at which a block is closed, 64 to 16777216 (default: ${DEFAULT-VALUE}).")
  private int blockBytes;

  @Option(
      names = "--bloom-bits-per-key",
      defaultValue = "10",
      description =
          "Bits for each key in the bloom filters, 0 to 64; 0 for no filter (default: ${DEFAULT-VALUE}).")
  private int bloomBitsPerKey;

  @Option(
      names = "--compression",
      defaultValue = "none",
      description = "Compression of the blocks: none or lz4 (default: ${DEFAULT-VALUE}).")
  private String compression;

  @Override
  public Integer call() throws IOException {
    PairGenerator generator = generator();
    TableLayout layout = layout();
    checkEngine();
    checkEmpty();
    boolean existed = Files.exists(dir);
    boolean complete = false;
    long start = System.nanoTime();
    try (OsStoreDirectory directory = new OsStoreDirectory(store())) {
      BulkLoader loader = loader(directory, generator, layout);
      checkRoom();
      directory.lock();
      BulkLoader.Result result;
      try (Progress progress = Progress.start(System.err, "load-dataset", pairs, loader::written)) {
        result = loader.load(Math.min(tables, Runtime.getRuntime().availableProcessors()));
        progress.finished();
      }
      complete = true;
      spec.commandLine().getOut().println(json(result, (System.nanoTime() - start) / 1e9));
      spec.commandLine().getOut().flush();
      return 0;
    } finally {
      if (!complete) {
        removeRemains(existed);
      }
    }
  }

  private boolean textbook() {
    return engine.equals(TextbookEngine.NAME);
  }

  /** Returns the directory in which the engine looks for its files. */
  private Path store() {
    return textbook() ? dir.resolve(TextbookEngine.NAME) : dir;
  }

  private void checkEngine() {
    if (!textbook() && !engine.equals("lsm")) {
      throw new ParameterException(
          spec.commandLine(),
          "--engine must be lsm or textbook, not "
              + engine
              + "; other engines copy the pairs of lsm");
    }
  }

  private PairGenerator generator() {
    try {
      return new PairGenerator(valueBytes, uniquePercent, seed, oneBytePairs);
    } catch (IllegalArgumentException e) {
      throw new ParameterException(spec.commandLine(), e.getMessage(), e);
    }
  }

  private TableLayout layout() {
    try {
      LsmOptions options =
          LsmOptions.builder(dir)
              .blockBytes(blockBytes)
              .bloomBitsPerKey(bloomBitsPerKey)
              .compression(
                  switch (compression) {
                    case "none" -> Compression.NONE;
                    case "lz4" -> Compression.LZ4;
                    default ->
                        throw new IllegalArgumentException(
                            "--compression must be none or lz4, not " + compression);
                  })
              .build();
      return TableLayout.of(options);
    } catch (IllegalArgumentException e) {
      throw new ParameterException(spec.commandLine(), e.getMessage(), e);
    }
  }

  private BulkLoader loader(
      OsStoreDirectory directory, PairGenerator generator, TableLayout layout) {
    try {
      return new BulkLoader(directory, generator, pairs, tables, layout, overlapping, textbook());
    } catch (IllegalArgumentException e) {
      throw new ParameterException(spec.commandLine(), e.getMessage(), e);
    }
  }

  private void checkEmpty() throws IOException {
    if (!Files.exists(dir)) {
      return;
    }
    if (!Files.isDirectory(dir)) {
      throw new ParameterException(spec.commandLine(), "--dir: " + dir + " is not a directory");
    }
    try (Stream<Path> files = Files.list(dir)) {
      List<Path> found = files.limit(1).toList();
      if (!found.isEmpty()) {
        throw new ParameterException(
            spec.commandLine(),
            "--dir: "
                + dir
                + " is not empty (it has "
                + found.getFirst().getFileName()
                + "); name a new directory");
      }
    }
  }

  private void checkRoom() throws IOException {
    double needed = (double) pairs * (PairGenerator.KEY_BYTES + valueBytes + OVERHEAD_BYTES);
    FileStore store = Files.getFileStore(dir);
    if (store.getUsableSpace() < needed) {
      throw new IOException(
          "not enough space for the dataset in %s: about %.1f GB are needed, %.1f GB are free"
              .formatted(dir, needed / 1e9, store.getUsableSpace() / 1e9));
    }
  }

  private void removeRemains(boolean existed) throws IOException {
    if (!Files.isDirectory(dir)) {
      return;
    }
    try (Stream<Path> files = Files.walk(dir)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        if (!existed || !file.equals(dir)) {
          Files.delete(file);
        }
      }
    }
  }

  private String json(BulkLoader.Result result, double seconds) throws JsonProcessingException {
    Map<String, Object> object = new LinkedHashMap<>();
    object.put("engine", engine);
    object.put("pairs", result.pairs());
    object.put("value_bytes", valueBytes);
    object.put("seed", seed);
    object.put("unique_percent", uniquePercent);
    object.put("one_byte_pairs", oneBytePairs);
    object.put("tables", result.tables());
    object.put("overlapping", overlapping);
    object.put("block_bytes", blockBytes);
    object.put("bloom_bits_per_key", bloomBitsPerKey);
    object.put("compression", compression);
    object.put("bytes", result.bytes());
    object.put("content_hash", result.contentHash());
    object.put("seconds", Math.round(seconds * 1000) / 1000.0);
    return JSON.writeValueAsString(object);
  }
}
