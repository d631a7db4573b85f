package lsmlab.bench.server;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import lsmlab.bench.report.Comparison;

/** The benchmark of the whole service: runs its parts and holds their rows and tables. */
public final class ServerBench {

  /**
   * What a run is told.
   *
   * @param pairs in the dataset
   * @param valueBytes mean bytes of a value
   * @param seconds length of one measured interval
   * @param warmupSeconds length of what precedes it
   * @param connections of the load generator
   * @param serviceCpu what the server is pinned to
   * @param loadCpu what the load generator is pinned to
   * @param jvmArguments of every server, the no-op one too
   * @param service directory of lsmlab-server.jar
   * @param loadgen directory of the load generator
   * @param stores where stores are kept
   */
  public record Settings(
      int pairs,
      int valueBytes,
      int seconds,
      int warmupSeconds,
      int connections,
      int serviceCpu,
      int loadCpu,
      List<String> jvmArguments,
      Path service,
      Path loadgen,
      Path stores) {

    Path serviceJar() {
      return service.resolve("lsmlab-server.jar");
    }

    /** The same with values of another size in requests. */
    Settings withValueBytes(int bytes) {
      return new Settings(
          pairs,
          bytes,
          seconds,
          warmupSeconds,
          connections,
          serviceCpu,
          loadCpu,
          jvmArguments,
          service,
          loadgen,
          stores);
    }

    /** The loaded store, made once and only read from. */
    Path dataset() {
      return stores.resolve("server-" + pairs + "x" + valueBytes);
    }
  }

  private final Settings settings;
  private final PrintStream progress;
  private ServerReport report = new ServerReport();
  private String nativeTransport = "unknown";

  public ServerBench(Settings settings, PrintStream progress) {
    this.settings = settings;
    this.progress = progress;
  }

  /** Names of the variants that the service has. */
  public List<String> variants() throws IOException, InterruptedException {
    List<String> command = Server.java(settings);
    command.addAll(List.of("-jar", settings.serviceJar().toString(), "variants", "--json"));
    Process process =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    JsonNode list = new ObjectMapper().readTree(process.getInputStream());
    if (process.waitFor() != 0) {
      throw new IOException("the service does not list its variants; its message is above");
    }
    List<String> names = new ArrayList<>();
    list.forEach(item -> names.add(item.get("name").asText()));
    return names;
  }

  /**
   * Saturates the variants and the no-op handler in turn, with each script.
   *
   * @param repetitions measurements of each variant
   * @param finalPairs further ones of the two best, 0 for none
   * @param metricsPairs intervals with and without request metrics, 0 for none
   */
  public void saturate(
      List<String> scripts,
      List<String> variants,
      int repetitions,
      int finalPairs,
      int metricsPairs)
      throws IOException, InterruptedException {
    Server.load(settings);
    Saturation saturation = new Saturation(settings, progress);
    for (String script : scripts) {
      List<String> servers = new ArrayList<>(variants);
      if (script.equals("get")) {
        servers.add(Saturation.NOOP_VALUE);
      }
      saturation.field(script, servers, repetitions);
      saturation.decide(script, variants, finalPairs);
    }
    if (metricsPairs > 0) {
      saturation.measureMetrics(metricsPairs);
    }
    report.saturation(saturation, scripts, variants);
    noteTransport();
  }

  /** Overloads each variant once, and the no-op handler. */
  public void overload(List<String> variants, int connections, int seconds)
      throws IOException, InterruptedException {
    Server.load(settings);
    Overload overload = new Overload(settings, connections, seconds);
    Map<String, Overload.Figures> figures = new LinkedHashMap<>();
    for (String variant : variants) {
      figures.put(variant, overload.measure(variant, progress));
    }
    report.overload(figures, overload.measureNoop(progress), seconds);
    noteTransport();
  }

  /** Drives each variant over one connection at the rates of {@link Rates}. */
  public void rates(List<String> variants) throws IOException, InterruptedException {
    Server.load(settings);
    Rates rates = new Rates(settings);
    Map<String, Map<Rates.Case, Rates.Figures>> figures = new LinkedHashMap<>();
    for (String variant : variants) {
      figures.put(variant, rates.measure(variant, progress));
    }
    report.rates(figures);
    noteTransport();
  }

  private void noteTransport() throws IOException, InterruptedException {
    try (Server server = Server.service(settings, Map.of(), false)) {
      nativeTransport =
          Boolean.toString(
              server.scrape().samples().keySet().stream()
                  .anyMatch(sample -> sample.contains("native_transport=\"true\"")));
    }
  }

  /** Whether one-nio's native transport was in use: figures with and without do not compare. */
  public String nativeTransport() {
    return nativeTransport;
  }

  /** The rows of the parts that have run since the last call. */
  public List<Comparison> takeRows() {
    return List.copyOf(report.rows);
  }

  /** Their tables; forgets rows and tables. */
  public String takeMarkdown() {
    String text = report.markdown();
    report = new ServerReport();
    return text;
  }
}
