package lsmlab.bench;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectWriter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import lsmlab.bench.report.Comparison;
import lsmlab.bench.report.Environment;
import lsmlab.bench.report.MarkdownTable;
import lsmlab.bench.report.Standstill;
import lsmlab.bench.report.StolenTime;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** What the benchmarks' command lines have in common: a few options, how they refuse one, and where results go. */
final class CommonOptions {

  private static final ObjectMapper JSON = new ObjectMapper();
  private static final ObjectWriter PRETTY = JSON.writerWithDefaultPrettyPrinter();

  @Spec(Spec.Target.MIXEE)
  private CommandSpec spec;

  @Option(names = "--value-bytes", description = "mean bytes of a value (${DEFAULT-VALUE})")
  int valueBytes = 500;

  @Option(names = "--stores", description = "where the stores are kept (${DEFAULT-VALUE})")
  private Path stores = Path.of(".cache/bench");

  @Option(names = "--out", description = "where the results go (${DEFAULT-VALUE})")
  private Path out = Path.of("results/bench");

  @Option(
      names = "--update-docs",
      description = "page whose table is replaced, between its markers")
  private Path page;

  private StolenTime stolenBefore;

  @Option(
      names = "--standstill-seconds",
      description =
          "how long to watch first for stops of the machine itself, with all its CPUs busy; 0: not at all"
              + " (${DEFAULT-VALUE})")
  private int standstillSeconds = 10;

  Path stores() {
    return stores.toAbsolutePath();
  }

  /** Refuses what is wrong with these options. */
  void check() {
    atLeastOne("--value-bytes", valueBytes);
    if (standstillSeconds < 0) {
      throw refused("--standstill-seconds is " + standstillSeconds + ", allowed are 0 and more");
    }
    if (page != null && !Files.isWritable(page)) {
      throw refused("--update-docs: " + page + " is not a file that can be written");
    }
  }

  /** Refuses a value below 1. */
  void atLeastOne(String option, int value) {
    if (value < 1) {
      throw refused(option + " is " + value + ", allowed are 1 and more");
    }
  }

  /** Refuses words that are not among the known ones. */
  void known(String option, String kind, List<String> words, List<String> known) {
    for (String word : words) {
      if (!known.contains(word)) {
        throw refused(option + ": no " + kind + " '" + word + "'; there are " + known);
      }
    }
  }

  /** What a command throws whose options make no sense: exit code 2. */
  ParameterException refused(String message) {
    return new ParameterException(spec.commandLine(), message);
  }

  /** Where the benchmark runs, by name; watches the machine for its stops, and begins to count what its host takes. */
  Map<String, String> environment(List<String> jvmArguments) throws IOException {
    stolenBefore = StolenTime.now();
    Map<String, String> facts = Environment.describe(jvmArguments);
    if (standstillSeconds > 0) {
      double millis = Standstill.longestMillis(Duration.ofSeconds(standstillSeconds));
      facts.put("longest_standstill_ms", String.format(Locale.ROOT, "%.1f", millis));
      System.err.printf(
          Locale.ROOT,
          "a thread that only reads the clock was stopped for up to %.1f ms in %d s%n",
          millis,
          standstillSeconds);
    }
    return facts;
  }

  /** The rows that an earlier run left in a file of results; none where there is no such file. */
  List<Comparison> earlierRows(String name) throws IOException {
    Path results = out.resolve(name + ".json");
    return Files.exists(results)
        ? new ArrayList<>(
            JSON.readValue(results.toFile(), new TypeReference<List<Comparison>>() {}))
        : new ArrayList<>();
  }

  /** Writes another file of results, as JSON. */
  void writeBeside(String name, Object content) throws IOException {
    Files.createDirectories(out);
    Path file = out.resolve(name + ".json");
    Files.writeString(file, PRETTY.writeValueAsString(content) + "\n");
    System.err.println("written: " + file);
  }

  /**
   * Writes rows, table and what they were measured on, and prints the table. To the facts it adds what the host took of the
   * CPUs since {@link #environment}.
   *
   * @param name the file of rows, without its ending
   * @param part the other files', and after {@code bench-} the name of the page's markers
   */
  void write(
      String name, String part, List<Comparison> rows, Map<String, String> where, String table)
      throws IOException {
    Map<String, String> facts = new LinkedHashMap<>(where);
    double taken = StolenTime.now().shareSince(stolenBefore);
    facts.put("taken_by_host_percent", String.format(Locale.ROOT, "%.1f", 100 * taken));
    Files.createDirectories(out);
    Path results = out.resolve(name + ".json");
    Files.writeString(results, PRETTY.writeValueAsString(rows) + "\n");
    Files.writeString(
        out.resolve(part + "-environment.json"), PRETTY.writeValueAsString(facts) + "\n");
    List<String> words = new ArrayList<>();
    facts.forEach((fact, value) -> words.add(fact + " " + value));
    String text = table + "\n" + String.join("; ", words) + ".\n";
    Files.writeString(out.resolve(part + ".md"), text);
    if (page != null) {
      MarkdownTable.update(page, "bench-" + part, text);
    }
    System.out.print(text);
    System.err.println("written: " + results);
  }
}
