package lsmlab.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.function.UnaryOperator;
import lsmlab.bench.harness.Figures;
import lsmlab.bench.harness.Results;
import lsmlab.bench.storage.Fork;
import lsmlab.bench.storage.MemoryLimit;
import lsmlab.bench.storage.Pairs;
import lsmlab.bench.storage.Settings;
import lsmlab.bench.storage.StorageTables;
import lsmlab.bench.storage.Stores;
import lsmlab.peers.PeerEngines;
import lsmlab.peers.RocksEngine;
import lsmlab.peers.TunedRocksEngine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code storage}: the storage engine and its peers. */
@Command(
    name = "storage",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = "Measures the storage engine and its peers in turn.")
final class BenchStorage implements Callable<Integer> {

  private static final String MEMORY = "memory";
  private static final List<String> WORKLOADS =
      List.of("get", MEMORY, "mixed", "put", "sync", "open", "replay", "overwrite");

  /**
   * Workloads that an engine does not run. MVStore has no WAL to replay, rewrites pages with every acknowledged write, and
   * has its cache in the heap, which is small in the memory workload.
   */
  private static final Map<String, Set<String>> LEFT_OUT =
      Map.of("mvstore", Set.of(MEMORY, "replay", "overwrite"));

  /** Factor of the number of pairs in the memory workload, so that the JVM itself is a small part of its memory. */
  private static final int MEMORY_PAIRS_FACTOR = 4;

  /** Lowest memory limit: a JVM needs this much even with few pairs. */
  private static final long LIMIT_BYTES_MIN = 256 << 20;

  private static final Set<String> ON_LOADED_STORE = Set.of("get", "mixed", "open", "overwrite");
  private static final int PAIRS_MIN = 1_000;
  private static final int PAIRS_FULL = 2_000_000;
  private static final double QUICK_SCALE = 0.02;

  private static final String NO_MEMORY_LIMIT =
      "memory needs a control group with a limit, and none can be made in /sys/fs/cgroup: run as root";

  @Mixin private CommonOptions common;

  @Option(
      names = "--engines",
      split = ",",
      description = "ours first, then the peers (${DEFAULT-VALUE}); mvstore is another one")
  private List<String> engines = List.of("lsm", "rocksdb", "rocksdb-tuned");

  @Option(
      names = "--workloads",
      split = ",",
      description = "some of get, memory, mixed, put, sync, open, replay, overwrite (all)")
  private List<String> workloads;

  @Option(
      names = "--scale",
      description = "factor of the 2 million pairs and of the bytes written (${DEFAULT-VALUE})")
  private double scale = 1;

  @Option(names = "--seed", description = "seed of the values and of the order (${DEFAULT-VALUE})")
  private long seed = 1;

  @Option(names = "--rounds", description = "measurements of each engine (${DEFAULT-VALUE})")
  private int rounds = 5;

  @Option(names = "--seconds", description = "length of one measured interval (${DEFAULT-VALUE})")
  private int seconds = 3;

  @Option(names = "--warmup-seconds", description = "length of one warm-up (${DEFAULT-VALUE})")
  private int warmupSeconds = 2;

  @Option(
      names = "--overwrite-bytes",
      description = "bytes of keys and values to overwrite (${DEFAULT-VALUE})")
  private long overwriteBytes = 10_000_000_000L;

  @Option(
      names = "--replay-bytes",
      description = "bytes of keys and values in the WAL to replay (${DEFAULT-VALUE})")
  private long replayBytes = 256_000_000;

  @Option(
      names = "--jvm-args",
      split = " ",
      description = "for every measured JVM (${DEFAULT-VALUE})")
  private List<String> jvmArguments =
      List.of(
          "-Xmx3g", "--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow");

  @Override
  public Integer call() throws IOException, InterruptedException {
    rounds = common.unlessQuick("--rounds", rounds, 1);
    seconds = common.unlessQuick("--seconds", seconds, 1);
    warmupSeconds = common.unlessQuick("--warmup-seconds", warmupSeconds, 1);
    scale = common.unlessQuick("--scale", scale, QUICK_SCALE);
    check();
    Settings settings =
        new Settings(
            (int) Math.max(PAIRS_MIN, PAIRS_FULL * scale),
            common.valueBytes,
            seed,
            seconds,
            warmupSeconds,
            (long) Math.max(1_000_000, overwriteBytes * scale),
            (long) Math.max(1_000_000, replayBytes * scale),
            common.stores());
    List<String> chosen = chosenWorkloads();
    Results results = common.results(jvmArguments);
    results.fact("pairs", settings.pairs());
    results.fact("value_bytes", settings.valueBytes());
    results.fact("rounds", rounds);
    results.fact("seconds", seconds);
    results.fact("warmup_seconds", warmupSeconds);
    results.fact("overwrite_bytes", settings.overwriteBytes());
    results.fact("replay_bytes", settings.replayBytes());
    Figures figures = new Figures(System.err);
    List<String> failed = new ArrayList<>();
    Settings large = settings.withPairs(MEMORY_PAIRS_FACTOR * settings.pairs());
    for (String workload : chosen) {
      List<String> taking =
          engines.stream()
              .filter(engine -> !LEFT_OUT.getOrDefault(engine, Set.of()).contains(workload))
              .toList();
      Settings used = workload.equals(MEMORY) ? large : settings;
      if (workload.equals(MEMORY) || ON_LOADED_STORE.contains(workload)) {
        load(used, taking);
      }
      try {
        figures.measure(workload, taking, rounds, engine -> measure(workload, engine, used));
      } catch (IOException e) {
        System.err.println("failed: " + e.getMessage());
        failed.add(workload);
      }
    }
    if (!failed.isEmpty()) {
      results.keepPage();
    }
    results.write("storage", figures, StorageTables.of(figures, engines));
    if (!failed.isEmpty()) {
      throw new IOException(
          "no figures of " + String.join(", ", failed) + "; a page of documents stays as it was");
    }
    return 0;
  }

  /** Creates the loaded stores of these engines that do not exist yet. */
  private void load(Settings settings, List<String> taking)
      throws IOException, InterruptedException {
    Files.createDirectories(settings.stores());
    for (String engine : taking) {
      Path base = settings.base(engine);
      Path loaded = base.resolveSibling(base.getFileName() + ".loaded");
      if (Files.exists(loaded)) {
        continue;
      }
      System.err.printf("load %s: %,d pairs%n", engine, settings.pairs());
      Stores.delete(base);
      Fork.start("load", engine, settings, jvmArguments, UnaryOperator.identity());
      Files.createFile(loaded);
    }
  }

  private void forgetLoadedStores() throws IOException {
    if (Files.isDirectory(common.stores())) {
      for (Path loaded : Stores.list(common.stores(), ".loaded")) {
        Files.delete(loaded);
      }
    }
  }

  private Map<String, Double> measure(String workload, String engine, Settings settings)
      throws IOException, InterruptedException {
    Stores.delete(settings.scratch(engine));
    if (workload.equals("replay")) {
      Fork.start("fill-log", engine, settings, jvmArguments, UnaryOperator.identity());
    }
    Map<String, Double> figures =
        workload.equals(MEMORY)
            ? measureLimited(engine, settings)
            : Fork.start(workload, engine, settings, jvmArguments, UnaryOperator.identity());
    Stores.delete(settings.scratch(engine));
    return figures;
  }

  /** Limits the process's memory to a quarter of the pairs' bytes. The heap is small, so that most of it is left for data. */
  private Map<String, Double> measureLimited(String engine, Settings settings)
      throws IOException, InterruptedException {
    long pairBytes = (long) settings.pairs() * (settings.valueBytes() + Pairs.KEY_BYTES);
    long bytes = Math.max(LIMIT_BYTES_MIN, pairBytes / 4);
    List<String> arguments = new ArrayList<>(jvmArguments);
    arguments.addAll(List.of("-Xms64m", "-Xmx64m", "-XX:+UseSerialGC"));
    arguments.add("-D" + RocksEngine.BLOCK_CACHE_PROPERTY + "=" + bytes / 4);
    arguments.add("-D" + TunedRocksEngine.DIRECT_CACHE_PROPERTY + "=" + bytes / 20 * 9);
    try (MemoryLimit limit =
        MemoryLimit.of(bytes).orElseThrow(() -> new IOException(NO_MEMORY_LIMIT))) {
      return Fork.start(MEMORY, engine, settings, arguments, limit::wrap);
    }
  }

  /** Returns the workloads of {@code --workloads}, by default all that can run on this machine. */
  private List<String> chosenWorkloads() throws IOException {
    boolean limitable;
    try (MemoryLimit limit = MemoryLimit.of(LIMIT_BYTES_MIN).orElse(null)) {
      limitable = limit != null;
    }
    if (workloads == null && !limitable) {
      System.err.println("left out: " + NO_MEMORY_LIMIT);
    }
    if (workloads != null && workloads.contains(MEMORY) && !limitable) {
      throw common.refused("--workloads: " + NO_MEMORY_LIMIT);
    }
    return WORKLOADS.stream()
        .filter(
            name ->
                workloads == null ? limitable || !name.equals(MEMORY) : workloads.contains(name))
        .toList();
  }

  private void check() throws IOException {
    common.check();
    for (String engine : engines) {
      if (PeerEngines.find(engine).filter(entry -> entry.persistent()).isEmpty()) {
        throw common.refused(
            "--engines: no engine '"
                + engine
                + "' that keeps its pairs; there are lsm, rocksdb, rocksdb-tuned, mvstore");
      }
    }
    if (engines.size() != new LinkedHashSet<>(engines).size()) {
      throw common.refused("--engines names an engine twice: " + String.join(",", engines));
    }
    if (workloads != null) {
      common.known("--workloads", "workload", workloads, WORKLOADS);
    }
    if (!(scale > 0 && scale <= 100)) {
      throw common.refused("--scale must be above 0 and at most 100, not " + scale);
    }
    common.atLeastOne("--rounds", rounds);
    common.atLeastOne("--seconds", seconds);
    common.atLeastOne("--warmup-seconds", warmupSeconds);
    common.atLeastOne("--overwrite-bytes", overwriteBytes);
    common.atLeastOne("--replay-bytes", replayBytes);
    if (common.reload) {
      forgetLoadedStores();
    }
  }
}
