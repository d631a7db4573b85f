package lsmlab.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import lsmlab.bench.harness.Figures;
import lsmlab.bench.harness.Results;
import lsmlab.bench.server.Ladder;
import lsmlab.bench.server.LadderTables;
import lsmlab.bench.server.Overload;
import lsmlab.bench.server.ServerProcess;
import lsmlab.bench.server.ServerSettings;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code server}: the whole service. */
@Command(
    name = "server",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Measures the cost of a request, from one-nio alone to the whole service, and in each variant."
          + " With --overload, measures each variant at twice its saturated rate instead.",
      "Servers run one at a time on a CPU of their own, the load generator on another."
    })
final class BenchServer implements Callable<Integer> {

  @Mixin private CommonOptions common;

  @Option(names = "--overload", description = "measure overload instead of the ladder")
  private boolean overload;

  @Option(names = "--variants", split = ",", description = "variants to measure (all)")
  private List<String> variants = List.of();

  @Option(names = "--rounds", description = "measurements of each server (${DEFAULT-VALUE})")
  private int rounds = 7;

  @Option(names = "--seconds", description = "length of one measured interval (${DEFAULT-VALUE})")
  private int seconds = 2;

  @Option(names = "--warmup-seconds", description = "length of one warm-up (${DEFAULT-VALUE})")
  private int warmupSeconds = 3;

  @Option(names = "--overload-seconds", description = "length of an overload (${DEFAULT-VALUE})")
  private int overloadSeconds = 60;

  @Option(
      names = "--refusals",
      split = ",",
      description = "limits on refusals a second in an overload, 0 for none (${DEFAULT-VALUE})")
  private List<Integer> refusals = List.of(0, 5000);

  @Option(names = "--connections", description = "connections when saturated (${DEFAULT-VALUE})")
  private int connections = 64;

  @Option(
      names = "--overload-connections",
      description = "connections in an overload (${DEFAULT-VALUE})")
  private int overloadConnections = 512;

  @Option(names = "--pairs", description = "pairs in the dataset (${DEFAULT-VALUE})")
  private int pairs = 1_000_000;

  @Option(names = "--service-cpu", description = "the CPU of the servers (${DEFAULT-VALUE})")
  private int serviceCpu = 0;

  @Option(names = "--load-cpu", description = "the CPU of the load generator (${DEFAULT-VALUE})")
  private int loadCpu = 1;

  @Option(names = "--jvm-args", split = " ", description = "for every server (${DEFAULT-VALUE})")
  private List<String> jvmArguments = List.of("@service/jvm.options");

  @Option(names = "--service", description = "lsmlab-server.jar's directory (${DEFAULT-VALUE})")
  private Path service = Path.of("service/server/target/service");

  @Option(names = "--loadgen", description = "the load generator's directory (${DEFAULT-VALUE})")
  private Path loadgen = Path.of("loadgen");

  @Override
  public Integer call() throws IOException, InterruptedException {
    rounds = common.unlessQuick("--rounds", rounds, 1);
    seconds = common.unlessQuick("--seconds", seconds, 1);
    warmupSeconds = common.unlessQuick("--warmup-seconds", warmupSeconds, 1);
    overloadSeconds = common.unlessQuick("--overload-seconds", overloadSeconds, 5);
    pairs = common.unlessQuick("--pairs", pairs, 200_000);
    check();
    ServerSettings settings =
        new ServerSettings(
            pairs,
            common.valueBytes,
            seconds,
            warmupSeconds,
            connections,
            serviceCpu,
            loadCpu,
            jvmArguments,
            service.toAbsolutePath(),
            loadgen.toAbsolutePath(),
            common.stores());
    List<String> all = ServerProcess.variants(settings);
    common.known("--variants", "variant", variants, all);
    List<String> quick = all.stream().limit(3).toList();
    List<String> chosen = variants.isEmpty() ? common.quick ? quick : all : variants;
    Results results = common.results(jvmArguments);
    results.fact("pairs", pairs);
    results.fact("value_bytes", common.valueBytes);
    results.fact("connections", connections);
    results.fact("warmup_seconds", warmupSeconds);
    results.fact("seconds", seconds);
    results.fact("native_transport", Ladder.isTransportNative());
    ServerProcess.makeDataset(settings, common.reload);
    if (overload) {
      results.fact("overload_connections", overloadConnections);
      Overload bench = new Overload(settings, overloadConnections, overloadSeconds, System.err);
      Figures figures = bench.measure(chosen, refusals);
      results.write("server-overload", figures, Overload.table(figures, overloadSeconds));
    } else {
      results.fact("rounds", rounds);
      Figures figures = new Ladder(settings, System.err).measure(chosen, rounds);
      results.write(
          "server", figures, LadderTables.of(figures, chosen, Ladder.isTransportNative()));
    }
    return 0;
  }

  private void check() {
    common.check();
    common.atLeastOne("--rounds", rounds);
    common.atLeastOne("--seconds", seconds);
    common.atLeastOne("--warmup-seconds", warmupSeconds);
    common.atLeastOne("--overload-seconds", overloadSeconds);
    common.atLeastOne("--connections", connections);
    common.atLeastOne("--overload-connections", overloadConnections);
    common.atLeastOne("--pairs", pairs);
    if (refusals.stream().anyMatch(bound -> bound < 0)) {
      throw common.refused("--refusals must be 0 or more, not " + refusals);
    }
    int cpus = Runtime.getRuntime().availableProcessors();
    if (serviceCpu == loadCpu) {
      throw common.refused(
          "--service-cpu and --load-cpu are both " + loadCpu + ": each needs its own");
    }
    if (Math.min(serviceCpu, loadCpu) < 0 || Math.max(serviceCpu, loadCpu) >= cpus) {
      throw common.refused(
          "--service-cpu "
              + serviceCpu
              + ", --load-cpu "
              + loadCpu
              + ": there are 0 to "
              + (cpus - 1));
    }
    exists("--service", service.resolve("lsmlab-server.jar"), "make build-service");
    exists("--loadgen", loadgen.resolve("target/release/loadgen"), "make build-loadgen");
  }

  private void exists(String option, Path file, String how) {
    if (!Files.isRegularFile(file)) {
      throw common.refused(option + ": " + file + " is missing: " + how);
    }
  }
}
