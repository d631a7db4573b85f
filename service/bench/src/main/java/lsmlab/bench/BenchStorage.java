package lsmlab.bench;

import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import lsmlab.bench.report.Comparison;
import lsmlab.bench.report.MachineStops;
import lsmlab.bench.report.MarkdownTable;
import lsmlab.bench.report.Stall;
import lsmlab.bench.report.StallReport;
import lsmlab.bench.workload.Outcome;
import lsmlab.peers.PeerEngines;
import lsmlab.peers.RocksEngine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code storage}: the paired harness's command line. */
@Command(
    name = "storage",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = "Measures the storage engine and its peers in turn, and compares them.")
final class BenchStorage implements Callable<Integer> {

  private static final String MEMORY = "memory";
  private static final String OVERWRITE = "overwrite";
  private static final List<String> WORKLOADS =
      List.of("get", MEMORY, "put", "sync", "open", "replay", OVERWRITE);
  // MVStore has no log to replay, and rewrites its pages with every acknowledged write; its cache
  // is
  // in the heap, which is small where memory is.
  private static final Map<String, Set<String>> LEFT_OUT =
      Map.of("mvstore", Set.of(MEMORY, "replay", OVERWRITE));

  /** How many times the usual number of pairs, so that a JVM is a small part of the memory it is given. */
  private static final int MEMORY_PAIRS_FACTOR = 4;

  /** A JVM needs so much whatever it does. */
  private static final long LIMIT_BYTES_MIN = 256 << 20;

  /** Workloads on the loaded store. */
  private static final Set<String> LOADED = Set.of("get", "open", OVERWRITE);

  /** Each warms up slowly. */
  private static final int MEMORY_REPETITIONS_MAX = 3;

  private static final int PAIRS_MIN = 1_000;
  private static final int PAIRS_FULL = 2_000_000;

  private static final String NO_MEMORY_LIMIT =
      "memory needs a control group with a limit, which cannot be made in /sys/fs/cgroup here: run as root";

  private static final String NO_WATCH =
      "(without a watch for stops of the machine, which takes real-time priorities: run as root on Linux) ";

  @Mixin private CommonOptions common;

  @Option(
      names = "--engines",
      split = ",",
      description = "first ours, then the peers (${DEFAULT-VALUE})")
  private List<String> engines = List.of("lsm", "rocksdb", "mvstore");

  @Option(
      names = "--workloads",
      split = ",",
      description = "of get, memory, put, sync, open, replay, overwrite (all)")
  private List<String> workloads;

  @Option(
      names = "--scale",
      description = "part of the 2 million pairs and of the overwrite's length (${DEFAULT-VALUE})")
  private double scale = 1;

  @Option(names = "--seed", description = "of values and order (${DEFAULT-VALUE})")
  private long seed = 1;

  @Option(names = "--repetitions", description = "measurements of each engine (${DEFAULT-VALUE})")
  private int repetitions = 5;

  @Option(names = "--seconds", description = "length of one measured interval (${DEFAULT-VALUE})")
  private int seconds = 5;

  @Option(names = "--warmup-seconds", description = "length of one warm-up (${DEFAULT-VALUE})")
  private int warmupSeconds = 3;

  @Option(
      names = "--overwrite-seconds",
      description = "length of the sustained overwrite (${DEFAULT-VALUE})")
  private int overwriteSeconds = 600;

  @Option(
      names = "--overwrite-repetitions",
      description = "its measurements of each engine (${DEFAULT-VALUE})")
  private int overwriteRepetitions = 1;

  @Option(names = "--overwrite-threads", description = "its writers (${DEFAULT-VALUE})")
  private int overwriteThreads = 1;

  @Option(
      names = "--replay-bytes",
      description = "pairs in the WAL that is replayed (${DEFAULT-VALUE})")
  private long replayBytes = 256_000_000;

  @Option(
      names = "--jvm-args",
      split = " ",
      description = "of every measured JVM (${DEFAULT-VALUE})")
  private List<String> jvmArguments =
      List.of(
          "-Xmx3g", "--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow");

  @Option(names = "--reload", description = "make the loaded stores anew")
  private boolean reload;

  @Override
  public Integer call() throws IOException, InterruptedException {
    check();
    workloads = chosenWorkloads();
    Settings settings =
        new Settings(
            (int) Math.max(PAIRS_MIN, PAIRS_FULL * scale),
            common.valueBytes,
            seed,
            seconds,
            warmupSeconds,
            (int) Math.max(1, overwriteSeconds * scale),
            overwriteThreads,
            (long) Math.max(1_000_000, replayBytes * scale),
            common.stores());
    Map<String, String> environment = common.environment(jvmArguments);
    Paired paired =
        new Paired(
            settings,
            (workload, engine) ->
                workload.equals(OVERWRITE)
                    ? runWatched(engine, settings)
                    : Fork.start(workload, engine, settings, jvmArguments),
            System.err);
    Settings large = settings.withPairs(MEMORY_PAIRS_FACTOR * settings.pairs());
    Paired limited =
        paired.with(
            large,
            (workload, engine) ->
                workload.equals(MEMORY)
                    ? runLimited(engine, large)
                    : Fork.start(workload, engine, large, jvmArguments));
    if (reload) {
      paired.forget(engines);
      limited.forget(engines);
    }
    if (workloads.stream().anyMatch(LOADED::contains)) {
      paired.load(engines);
    }
    for (String workload : WORKLOADS) {
      if (workload.equals(MEMORY) && workloads.contains(MEMORY)) {
        limited.load(taking(MEMORY));
        limited.measure(MEMORY, taking(MEMORY), Math.min(repetitions, MEMORY_REPETITIONS_MAX));
      } else if (workloads.contains(workload)) {
        int times = workload.equals(OVERWRITE) ? overwriteRepetitions : repetitions;
        paired.measure(workload, taking(workload), times);
      }
    }
    write(
        settings, environment, paired.comparisons(engines.getFirst(), "rocksdb"), paired.stalls());
    return 0;
  }

  /** With a watch beside it for moments at which no CPU could be had. */
  private Outcome runWatched(String engine, Settings settings)
      throws IOException, InterruptedException {
    try (MachineStops stops = MachineStops.watch().orElse(null)) {
      if (stops == null) {
        System.err.print(NO_WATCH);
      }
      Outcome outcome = Fork.start(OVERWRITE, engine, settings, jvmArguments);
      return stops == null ? outcome : outcome.beside(stops);
    }
  }

  /** A quarter of the pairs' bytes, at least what a JVM needs. */
  private static long limitBytes(Settings settings) {
    return Math.max(
        LIMIT_BYTES_MIN, (long) settings.pairs() * (settings.valueBytes() + Pairs.KEY_BYTES) / 4);
  }

  /** Little heap, so that most of the memory is left for data; RocksDB's own cache takes a quarter of it all. */
  private Outcome runLimited(String engine, Settings settings)
      throws IOException, InterruptedException {
    long bytes = limitBytes(settings);
    List<String> arguments = new ArrayList<>(jvmArguments);
    arguments.addAll(
        List.of(
            "-Xms64m",
            "-Xmx64m",
            "-XX:+UseSerialGC",
            "-D" + RocksEngine.BLOCK_CACHE_PROPERTY + "=" + bytes / 4));
    try (MemoryLimit limit =
        MemoryLimit.of(bytes).orElseThrow(() -> new IOException(NO_MEMORY_LIMIT))) {
      return Fork.start(MEMORY, engine, settings, arguments, limit::wrap);
    }
  }

  /** All of them, where none are named, but for one that the machine does not permit. */
  private List<String> chosenWorkloads() throws IOException {
    boolean limitable;
    try (MemoryLimit limit = MemoryLimit.of(LIMIT_BYTES_MIN).orElse(null)) {
      limitable = limit != null;
    }
    if (workloads != null && workloads.contains(MEMORY) && !limitable) {
      throw common.refused("--workloads: " + NO_MEMORY_LIMIT);
    }
    if (workloads != null) {
      return workloads;
    }
    if (!limitable) {
      System.err.println("left out: " + NO_MEMORY_LIMIT);
    }
    return WORKLOADS.stream().filter(name -> limitable || !name.equals(MEMORY)).toList();
  }

  private List<String> taking(String workload) {
    return engines.stream()
        .filter(engine -> !LEFT_OUT.getOrDefault(engine, Set.of()).contains(workload))
        .toList();
  }

  private void write(
      Settings settings,
      Map<String, String> environment,
      List<Comparison> comparisons,
      Map<String, List<List<Stall>>> stalls)
      throws IOException {
    environment.put("pairs", Integer.toString(settings.pairs()));
    environment.put("value_bytes", Integer.toString(settings.valueBytes()));
    environment.put("seconds", Integer.toString(settings.seconds()));
    environment.put("overwrite_seconds", Integer.toString(settings.overwriteSeconds()));
    environment.put("replay_bytes", Long.toString(settings.replayBytes()));
    String table = MarkdownTable.of(comparisons) + StallReport.of(stalls);
    common.write("storage", "storage", comparisons, environment, table);
    common.writeBeside("storage-stalls", stalls);
  }

  private void check() {
    common.check();
    for (String engine : engines) {
      if (PeerEngines.find(engine).filter(entry -> entry.persistent()).isEmpty()) {
        throw common.refused(
            "--engines: no engine '"
                + engine
                + "' that keeps its pairs; there are lsm, rocksdb, mvstore");
      }
    }
    if (engines.size() != new LinkedHashSet<>(engines).size()) {
      throw common.refused("--engines names an engine twice: " + String.join(",", engines));
    }
    if (workloads != null) {
      common.known("--workloads", "workload", workloads, WORKLOADS);
    }
    if (!(scale > 0 && scale <= 100)) {
      throw common.refused("--scale is " + scale + ", allowed are numbers above 0 up to 100");
    }
    common.atLeastOne("--repetitions", repetitions);
    common.atLeastOne("--seconds", seconds);
    common.atLeastOne("--warmup-seconds", warmupSeconds);
    common.atLeastOne("--overwrite-seconds", overwriteSeconds);
    common.atLeastOne("--overwrite-repetitions", overwriteRepetitions);
    common.atLeastOne("--overwrite-threads", overwriteThreads);
  }
}
