package lsmlab.bench;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import lsmlab.bench.report.Comparison;
import lsmlab.bench.report.Environment;
import lsmlab.bench.report.MarkdownTable;
import lsmlab.bench.server.ServerBench;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

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

  @Spec private CommandSpec spec;

  @Option(
      names = "--workloads",
      split = ",",
      description = "of get, put, overload, rates (${DEFAULT-VALUE})")
  private List<String> workloads = List.of("get", "put");

  @Option(names = "--variants", split = ",", description = "of those the service has (all)")
  private List<String> variants = List.of();

  @Option(names = "--repetitions", description = "measurements of each server (${DEFAULT-VALUE})")
  private int repetitions = 3;

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
  private int metricsPairs = 40;

  @Option(names = "--overload-seconds", description = "length of an overload (${DEFAULT-VALUE})")
  private int overloadSeconds = 60;

  @Option(names = "--connections", description = "when saturated (${DEFAULT-VALUE})")
  private int connections = 64;

  @Option(names = "--overload-connections", description = "when overloaded (${DEFAULT-VALUE})")
  private int overloadConnections = 512;

  @Option(names = "--pairs", description = "in the dataset (${DEFAULT-VALUE}, about 1 GB)")
  private int pairs = 2_000_000;

  @Option(names = "--value-bytes", description = "mean bytes of a value (${DEFAULT-VALUE})")
  private int valueBytes = 500;

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

  @Option(names = "--stores", description = "where stores are kept (${DEFAULT-VALUE})")
  private Path stores = Path.of(".cache/bench");

  @Option(names = "--out", description = "where the results go (${DEFAULT-VALUE})")
  private Path out = Path.of("results/bench");

  @Option(
      names = "--update-docs",
      description = "page whose table is replaced, between its markers")
  private Path page;

  @Override
  public Integer call() throws IOException, InterruptedException {
    check();
    Map<String, String> environment = Environment.describe(jvmArguments);
    ServerBench bench =
        new ServerBench(
            new ServerBench.Settings(
                pairs,
                valueBytes,
                seconds,
                warmupSeconds,
                connections,
                serviceCpu,
                loadCpu,
                jvmArguments,
                service.toAbsolutePath(),
                loadgen.toAbsolutePath(),
                stores.toAbsolutePath()),
            System.err);
    List<String> all = bench.variants();
    for (String variant : variants) {
      if (!all.contains(variant)) {
        throw refused("--variants: no variant '" + variant + "'; there are " + all);
      }
    }
    List<String> chosen = variants.isEmpty() ? all : variants;
    List<String> saturated = workloads.stream().filter(SATURATED::contains).toList();
    if (!saturated.isEmpty()) {
      bench.saturate(saturated, chosen, repetitions, metricsPairs);
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
    ObjectMapper json = new ObjectMapper();
    Files.createDirectories(out);
    Path results = out.resolve("server.json");
    List<Comparison> rows = new ArrayList<>();
    if (Files.exists(results)) {
      rows.addAll(json.readValue(results.toFile(), new TypeReference<List<Comparison>>() {}));
    }
    rows.removeIf(row -> partOf(row).equals(part));
    rows.addAll(bench.takeRows());
    Files.writeString(
        results, json.writerWithDefaultPrettyPrinter().writeValueAsString(rows) + "\n");
    Map<String, String> facts = new LinkedHashMap<>(environment);
    facts.put("pairs", Integer.toString(pairs));
    facts.put("value_bytes", Integer.toString(valueBytes));
    facts.put("connections", Integer.toString(connections));
    if (part.equals("overload")) {
      facts.put("overload_connections", Integer.toString(overloadConnections));
    }
    facts.put("warmup_seconds", Integer.toString(warmupSeconds));
    facts.put("seconds", Integer.toString(seconds));
    facts.put("native_transport", bench.nativeTransport());
    Files.writeString(
        out.resolve("server-" + part + "-environment.json"),
        json.writerWithDefaultPrettyPrinter().writeValueAsString(facts) + "\n");
    List<String> words = new ArrayList<>();
    facts.forEach((name, value) -> words.add(name + " " + value));
    String text = bench.takeMarkdown() + "\n" + String.join("; ", words) + ".\n";
    Files.writeString(out.resolve("server-" + part + ".md"), text);
    if (page != null) {
      MarkdownTable.update(page, "bench-server-" + part, text);
    }
    System.out.print(text);
    System.err.println("written: " + results);
  }

  private static String partOf(Comparison row) {
    return row.metric().startsWith("overload_")
        ? "overload"
        : row.metric().startsWith("rate_") ? "rates" : "saturation";
  }

  private void check() {
    for (String workload : workloads) {
      if (!WORKLOADS.contains(workload)) {
        throw refused("--workloads: no workload '" + workload + "'; there are " + WORKLOADS);
      }
    }
    atLeastOne("--repetitions", repetitions);
    atLeastOne("--seconds", seconds);
    atLeastOne("--warmup-seconds", warmupSeconds);
    if (metricsPairs < 0) {
      throw refused("--metrics-pairs is " + metricsPairs + ", allowed are 0 and more");
    }
    atLeastOne("--overload-seconds", overloadSeconds);
    atLeastOne("--connections", connections);
    atLeastOne("--overload-connections", overloadConnections);
    atLeastOne("--pairs", pairs);
    atLeastOne("--value-bytes", valueBytes);
    int cpus = Runtime.getRuntime().availableProcessors();
    if (serviceCpu == loadCpu) {
      throw refused("--service-cpu and --load-cpu are both " + loadCpu + ": each needs its own");
    }
    if (Math.min(serviceCpu, loadCpu) < 0 || Math.max(serviceCpu, loadCpu) >= cpus) {
      throw refused(
          "--service-cpu "
              + serviceCpu
              + ", --load-cpu "
              + loadCpu
              + ": there are 0 to "
              + (cpus - 1));
    }
    exists("--service", service.resolve("lsmlab-server.jar"), "make build-service");
    exists("--loadgen", loadgen.resolve("target/release/loadgen"), "make build-loadgen");
    if (page != null && !Files.isWritable(page)) {
      throw refused("--update-docs: " + page + " is not a file that can be written");
    }
  }

  private void exists(String option, Path file, String how) {
    if (!Files.isRegularFile(file)) {
      throw refused(option + ": " + file + " is missing: " + how);
    }
  }

  private void atLeastOne(String option, int value) {
    if (value < 1) {
      throw refused(option + " is " + value + ", allowed are 1 and more");
    }
  }

  private ParameterException refused(String message) {
    return new ParameterException(spec.commandLine(), message);
  }
}
