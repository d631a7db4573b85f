package lsmlab.bench.server;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import lsmlab.bench.report.StolenTime;

/**
 * One run of the load generator.
 *
 * @param report what {@code --json} wrote
 * @param serviceCpuSeconds what the server used of its CPU meanwhile
 * @param hostShare what the host took meanwhile of the server's CPU and the load generator's, 0 … 1 of both
 */
record Load(JsonNode report, double serviceCpuSeconds, double hostShare) {

  /** A rate that nothing here reaches: every connection sends as soon as it has its reply. */
  static final long SATURATING = 2_000_000;

  /**
   * GETs keys in order, every fifth: each block of the tables is read once, so that what follows finds all of them in
   * memory and checked.
   */
  private static final String WALK =
      """
      local at, pairs = 0, 0
      function init(args) pairs = tonumber(string.match(args[1], "^pairs=(%d+)$")) end
      function request()
        at = (at + 5) % pairs
        return wrk.format("GET", string.format("/v0/entity?id=k%09d", at))
      end
      """;

  private static final ObjectMapper JSON = new ObjectMapper();

  /** A warm-up with PUT has so many parts, each followed by a flush and a compaction. */
  private static final int PUT_PARTS = 3;

  /**
   * Warms a server up with as much as it takes: with GET in the order of keys, with PUT as it will be measured. After each
   * part of the latter a service flushes and merges everything: left to itself it does so first in the measured interval,
   * which would then show how long the JVM takes to compile that.
   */
  static void warmUp(ServerBench.Settings settings, Server server, String script)
      throws IOException, InterruptedException {
    if (script.equals("get")) {
      Path walk = settings.stores().resolve("scratch-walk.lua");
      Files.writeString(walk, WALK);
      Duration length = Duration.ofSeconds(settings.warmupSeconds());
      run(settings, server, walk, SATURATING, settings.connections(), length);
      return;
    }
    Duration length = Duration.ofSeconds(Math.max(1, settings.warmupSeconds() / PUT_PARTS));
    for (int part = 0; part < PUT_PARTS; part++) {
      apply(settings, server, script, SATURATING, settings.connections(), length);
      server.flushAndCompact();
    }
  }

  /**
   * Applies a load and returns when it is over.
   *
   * @param script get, put or mixed
   * @param rate requests a second over all connections
   */
  static Load apply(
      ServerBench.Settings settings,
      Server server,
      String script,
      long rate,
      int connections,
      Duration length)
      throws IOException, InterruptedException {
    Path path = settings.loadgen().resolve("scripts/" + script + ".lua");
    return script.equals("get")
        ? run(settings, server, path, rate, connections, length)
        : run(
            settings,
            server,
            path,
            rate,
            connections,
            length,
            "value_bytes=" + settings.valueBytes());
  }

  private static Load run(
      ServerBench.Settings settings,
      Server server,
      Path script,
      long rate,
      int connections,
      Duration length,
      String... more)
      throws IOException, InterruptedException {
    Path json = settings.stores().resolve("scratch-load.json");
    List<String> command = new ArrayList<>();
    command.addAll(List.of("taskset", "-c", Integer.toString(settings.loadCpu())));
    command.add(settings.loadgen().resolve("target/release/loadgen").toString());
    command.addAll(
        List.of("-t1", "-c" + connections, "-d" + length.toMillis() + "ms", "-R" + rate));
    command.addAll(List.of("--json", json.toString()));
    command.addAll(List.of("-s", script.toString()));
    command.addAll(List.of(server.url(), "--", "pairs=" + settings.pairs()));
    command.addAll(List.of(more));
    Set<Integer> cpus = Set.of(settings.serviceCpu(), settings.loadCpu());
    StolenTime stolenBefore = StolenTime.now(cpus);
    double before = server.cpuSeconds();
    Process process =
        new ProcessBuilder(command)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    int exit = process.waitFor();
    if (exit != 0) {
      throw new IOException("the load generator failed (exit code " + exit + ")");
    }
    if (!server.isAlive()) {
      throw new IOException(server.name() + " ended under load; its message is above");
    }
    return new Load(
        JSON.readTree(Files.readString(json)),
        server.cpuSeconds() - before,
        StolenTime.now(cpus).shareSince(stolenBefore));
  }

  double seconds() {
    return report.get("elapsed_s").asDouble();
  }

  /** Replies of 2xx and 404 a second: what did what was asked. */
  double goodput() {
    return (status(200) + status(201) + status(202) + status(404)) / seconds();
  }

  long status(int status) {
    return report.get("status").path(Integer.toString(status)).asLong();
  }

  /** Microseconds of the server's CPU for each reply. */
  double cpuMicrosPerReply() {
    return 1e6 * serviceCpuSeconds / report.get("requests").asDouble();
  }

  /** Share of its CPU that the server used. */
  double serviceCpuShare() {
    return serviceCpuSeconds / seconds();
  }

  /** Milliseconds from sending to the reply; the percentile is named as in the report: "99". */
  double uncorrectedMillis(String percentile) {
    return report.get("uncorrected_us").get("percentiles").get(percentile).asDouble() / 1000;
  }

  /** Milliseconds from the moment a request was due to the reply. */
  double correctedMillis(String percentile) {
    return report.get("latency_us").get("percentiles").get(percentile).asDouble() / 1000;
  }

  /** Failures that are no reply: connect, read, write. Time-outs are apart. */
  long brokenReplies() {
    JsonNode errors = report.get("errors");
    return errors.get("connect").asLong()
        + errors.get("read").asLong()
        + errors.get("write").asLong();
  }
}
