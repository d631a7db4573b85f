package lsmlab.bench.server;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import lsmlab.bench.harness.StolenTime;

/**
 * One run of the load generator.
 *
 * @param report the load generator's report in the form of {@code --json}
 * @param cpuSeconds CPU time of the server during the run, without its JIT compiler
 * @param hostShare steal time as a share of the time of both CPUs, 0 … 1
 * @param compilerShare CPU time of the server's JIT compiler, as a share of one CPU over the run
 */
record Load(JsonNode report, double cpuSeconds, double hostShare, double compilerShare) {

  /** Requests a second that no server here reaches, so each connection sends as soon as it has its response. */
  static final long SATURATING = 2_000_000;

  /** An interval is measured again if the host and the JIT compiler together took a larger share of the CPU. */
  private static final double TAKEN_MAX = 0.03;

  private static final int TRIES_MAX = 4;

  /** GETs every fifth key in order, so that every block of the tables is read and checked once. */
  private static final String WALK =
      """
      local at, pairs = 0, 0
      function init(args) pairs = tonumber(string.match(args[1], "^pairs=(%d+)$")) end
      function request()
        at = (at + 5) % pairs
        return wrk.format("GET", string.format("/v0/entity?id=k%09d", at))
      end
      """;

  /** Saturates a server while it may use both CPUs, so that its JVM can compile; then pins it to its own CPU again. */
  static void warmUp(ServerSettings settings, ServerProcess server, String method)
      throws IOException, InterruptedException {
    server.pin(false);
    if (method.equals("get")) {
      Path walk = Files.writeString(settings.stores().resolve("scratch-walk.lua"), WALK);
      run(settings, server, walk, SATURATING, settings.connections(), settings.warmupSeconds());
    } else {
      apply(settings, server, method, SATURATING, settings.connections(), settings.warmupSeconds());
    }
    server.pin(true);
  }

  /**
   * Saturates a server, and repeats that up to three times if the host and the JIT compiler took more than
   * {@link #TAKEN_MAX}. Returns the interval in which they took least, whatever the server's rate was.
   *
   * @throws IOException if a request got no response
   */
  static Load saturate(
      ServerSettings settings, ServerProcess server, String method, PrintStream progress)
      throws IOException, InterruptedException {
    Load calmest = null;
    for (int tries = 0; tries < TRIES_MAX; tries++) {
      Load load =
          apply(settings, server, method, SATURATING, settings.connections(), settings.seconds());
      if (load.lost() > 0) {
        throw new IOException(server.name() + " left requests without a response: " + load.report);
      }
      calmest = calmest == null || load.taken() < calmest.taken() ? load : calmest;
      if (calmest.taken() <= TAKEN_MAX) {
        break;
      }
      progress.printf(
          "(host %.0f%%, compiler %.0f%%, %,.0f/s) ",
          100 * load.hostShare, 100 * load.compilerShare, load.goodput());
    }
    return calmest;
  }

  /**
   * Applies a load and returns when it has ended.
   *
   * @param method {@code get} or {@code put}
   * @param rate requests a second over all connections
   */
  static Load apply(
      ServerSettings settings,
      ServerProcess server,
      String method,
      long rate,
      int connections,
      int seconds)
      throws IOException, InterruptedException {
    Path script = settings.loadgen().resolve("scripts/" + method + ".lua");
    return method.equals("get")
        ? run(settings, server, script, rate, connections, seconds)
        : run(
            settings,
            server,
            script,
            rate,
            connections,
            seconds,
            "value_bytes=" + settings.valueBytes());
  }

  private static Load run(
      ServerSettings settings,
      ServerProcess server,
      Path script,
      long rate,
      int connections,
      int seconds,
      String... scriptArguments)
      throws IOException, InterruptedException {
    Path json = settings.stores().resolve("scratch-load.json");
    List<String> command = new ArrayList<>();
    command.addAll(List.of("taskset", "-c", Integer.toString(settings.loadCpu())));
    command.add(settings.loadgen().resolve("target/release/loadgen").toString());
    command.addAll(List.of("-t1", "-c" + connections, "-d" + seconds + "s", "-R" + rate));
    command.addAll(List.of("--json", json.toString(), "-s", script.toString()));
    command.addAll(List.of(server.url(), "--", "pairs=" + settings.pairs()));
    command.addAll(List.of(scriptArguments));
    Set<Integer> cpus = Set.of(settings.serviceCpu(), settings.loadCpu());
    StolenTime stolenBefore = StolenTime.now(cpus);
    double cpuBefore = server.cpuSeconds();
    double compilerBefore = server.compilerSeconds();
    long begin = System.nanoTime();
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
    double lasted = (System.nanoTime() - begin) / 1e9;
    return new Load(
        new ObjectMapper().readTree(json.toFile()),
        server.cpuSeconds() - cpuBefore,
        StolenTime.now(cpus).shareSince(stolenBefore),
        (server.compilerSeconds() - compilerBefore) / lasted);
  }

  /** Share of CPU time that the host and the JIT compiler took from the server's requests. */
  private double taken() {
    return hostShare + compilerShare;
  }

  double seconds() {
    return report.get("elapsed_s").asDouble();
  }

  /** Successful requests a second: those with status 200, 201 or 404. */
  double goodput() {
    return (status(200) + status(201) + status(404)) / seconds();
  }

  long status(int status) {
    return report.get("status").path(Integer.toString(status)).asLong();
  }

  /** CPU time of the server for each response, in microseconds. */
  double cpuMicros() {
    return 1e6 * cpuSeconds / report.get("requests").asDouble();
  }

  /** 99th percentile of the time from sending a request to its response, in milliseconds. */
  double responseMillisP99() {
    return report.get("uncorrected_us").get("percentiles").get("99").asDouble() / 1000;
  }

  /** Requests without a response: failed connects, reads and writes, and timeouts. */
  long lost() {
    JsonNode errors = report.get("errors");
    long lost = 0;
    for (String kind : List.of("connect", "read", "write", "timeout")) {
      lost += errors.get(kind).asLong();
    }
    return lost;
  }
}
