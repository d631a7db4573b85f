package lsmlab.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import lsmlab.bench.report.Comparison;
import lsmlab.bench.server.ServerBench;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code server}: the command line of the benchmark of the whole service. */
@Command(
    name = "server",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description =
        "Saturates the service's variants and a one-nio handler that does nothing, in turn, or overloads them;"
            + " the load generator has a CPU of its own.")
final class BenchServer implements Callable<Integer> {

  private static final List<String> WORKLOADS = List.of("get", "put", "overload", "rates");

  private static final List<String> SATURATED = List.of("get", "put");

  @Mixin private CommonOptions common;

  @Option(
      names = "--workloads",
      split = ",",
      description = "of get, put, overload, rates (${DEFAULT-VALUE})")
  private List<String> workloads = List.of("get", "put");

  @Option(names = "--variants", split = ",", description = "of those the service has (all)")
  private List<String> variants = List.of();

  @Option(names = "--repetitions", description = "measurements of each server (${DEFAULT-VALUE})")
  private int repetitions = 2;

  @Option(
      names = "--final-pairs",
      description =
          "further ones of the two best variants, by which the better one is held against the target;"
              + " 0: by those before (${DEFAULT-VALUE})")
  private int finalPairs = 7;

  @Option(names = "--seconds", description = "length of one measured interval (${DEFAULT-VALUE})")
  private int seconds = 3;

  @Option(
      names = "--warmup-seconds",
      description = "before it; a JVM with one CPU compiles for long (${DEFAULT-VALUE})")
  private int warmupSeconds = 7;

  @Option(
      names = "--metrics-pairs",
      description =
          "pairs of intervals with and without request metrics, 0 for none (${DEFAULT-VALUE})")
  private int metricsPairs = 400;

  @Option(names = "--overload-seconds", description = "length of an overload (${DEFAULT-VALUE})")
  private int overloadSeconds = 60;

  @Option(names = "--connections", description = "when saturated (${DEFAULT-VALUE})")
  private int connections = 64;

  @Option(names = "--overload-connections", description = "when overloaded (${DEFAULT-VALUE})")
  private int overloadConnections = 512;

  @Option(names = "--pairs", description = "in the dataset (${DEFAULT-VALUE}, about 1 GB)")
  private int pairs = 2_000_000;

  @Option(names = "--service-cpu", description = "what servers are pinned to (${DEFAULT-VALUE})")
  private int serviceCpu = 0;

  @Option(
      names = "--load-cpu",
      description = "what the load generator is pinned to (${DEFAULT-VALUE})")
  private int loadCpu = 1;

  @Option(
      names = "--jvm-args",
      split = " ",
      description = "of every server, the no-op one too (${DEFAULT-VALUE})")
  private List<String> jvmArguments = List.of("@service/jvm.options");

  @Option(names = "--service", description = "lsmlab-server.jar's directory (${DEFAULT-VALUE})")
  private Path service = Path.of("service/server/target/service");

  @Option(names = "--loadgen", description = "the load generator's directory (${DEFAULT-VALUE})")
  private Path loadgen = Path.of("loadgen");

  @Override
  public Integer call() throws IOException, InterruptedException {
    check();
    Map<String, String> environment = common.environment(jvmArguments);
    ServerBench bench =
        new ServerBench(
            new ServerBench.Settings(
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
                common.stores()),
            System.err);
    List<String> all = bench.variants();
    common.known("--variants", "variant", variants, all);
    List<String> chosen = variants.isEmpty() ? all : variants;
    List<String> saturated = workloads.stream().filter(SATURATED::contains).toList();
    if (!saturated.isEmpty()) {
      bench.saturate(saturated, chosen, repetitions, finalPairs, metricsPairs);
      write("saturation", bench, environment);
    }
    if (workloads.contains("overload")) {
      bench.overload(chosen, overloadConnections, overloadSeconds);
      write("overload", bench, environment);
    }
    if (workloads.contains("rates")) {
      bench.rates(chosen);
      write("rates", bench, environment);
    }
    return 0;
  }

  /** Writes the part's table, and its rows beside those of the other part. */
  private void write(String part, ServerBench bench, Map<String, String> environment)
      throws IOException {
    List<Comparison> rows = common.earlierRows("server");
    rows.removeIf(row -> partOf(row).equals(part));
    rows.addAll(bench.takeRows());
    Map<String, String> facts = new LinkedHashMap<>(environment);
    facts.put("pairs", Integer.toString(pairs));
    facts.put("value_bytes", Integer.toString(common.valueBytes));
    facts.put("connections", Integer.toString(connections));
    if (part.equals("overload")) {
      facts.put("overload_connections", Integer.toString(overloadConnections));
    }
    facts.put("warmup_seconds", Integer.toString(warmupSeconds));
    facts.put("seconds", Integer.toString(seconds));
    facts.put("native_transport", bench.nativeTransport());
    common.write("server", "server-" + part, rows, facts, bench.takeMarkdown());
  }

  private static String partOf(Comparison row) {
    return row.metric().startsWith("overload_")
        ? "overload"
        : row.metric().startsWith("rate_") ? "rates" : "saturation";
  }

  private void check() {
    common.check();
    common.known("--workloads", "workload", workloads, WORKLOADS);
    common.atLeastOne("--repetitions", repetitions);
    common.atLeastOne("--seconds", seconds);
    common.atLeastOne("--warmup-seconds", warmupSeconds);
    noneOrMore("--final-pairs", finalPairs);
    noneOrMore("--metrics-pairs", metricsPairs);
    common.atLeastOne("--overload-seconds", overloadSeconds);
    common.atLeastOne("--connections", connections);
    common.atLeastOne("--overload-connections", overloadConnections);
    common.atLeastOne("--pairs", pairs);
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

  private void noneOrMore(String option, int value) {
    if (value < 0) {
      throw common.refused(option + " is " + value + ", allowed are 0 and more");
    }
  }

  private void exists(String option, Path file, String how) {
    if (!Files.isRegularFile(file)) {
      throw common.refused(option + ": " + file + " is missing: " + how);
    }
  }
}
