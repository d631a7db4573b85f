package lsmlab.bench.harness;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Writes the results of a benchmark: {@code NAME.json} with every figure and the environment, and {@code NAME.md} with the
 * tables. If a page is given, also replaces the lines between its markers {@code <!-- bench-NAME:begin -->} and
 * {@code <!-- bench-NAME:end -->} by the tables.
 */
public final class Results {

  private final Path out;
  private Path page;
  private final Map<String, String> facts;
  private final StolenTime stolenBefore;

  /**
   * Starts to count the CPU time that the host takes.
   *
   * @param page null if no page is to be updated
   */
  public Results(Path out, Path page, Map<String, String> environment) throws IOException {
    this.out = out;
    this.page = page;
    facts = new LinkedHashMap<>(environment);
    stolenBefore = StolenTime.now();
  }

  /** Adds a setting that the figures depend on. */
  public void fact(String name, Object value) {
    facts.put(name, value.toString());
  }

  /** Leaves the page as it is: not everything that it shows was measured. */
  public void keepPage() {
    page = null;
  }

  /** Writes everything and prints the tables. */
  public void write(String name, Figures figures, String tables) throws IOException {
    double taken = 100 * StolenTime.now().shareSince(stolenBefore);
    facts.put("taken_by_host_percent", String.format(Locale.ROOT, "%.1f", taken));
    String environment =
        facts.entrySet().stream()
            .map(fact -> fact.getKey() + " " + fact.getValue())
            .collect(Collectors.joining("; ", "", "."));
    String text = tables.strip() + "\n\n" + environment + "\n";
    Files.createDirectories(out);
    Path json = out.resolve(name + ".json");
    new ObjectMapper()
        .writerWithDefaultPrettyPrinter()
        .writeValue(json.toFile(), Map.of("environment", facts, "figures", figures));
    Files.writeString(out.resolve(name + ".md"), text);
    if (page != null) {
      replace(page, "bench-" + name, text);
    }
    System.out.print(text);
    System.err.println("written: " + json);
  }

  /**
   * Replaces the lines between the markers of the page.
   *
   * @throws IOException if the page lacks the markers; the page is then unchanged
   */
  static void replace(Path page, String section, String content) throws IOException {
    String text = Files.readString(page);
    String beginMark = "<!-- " + section + ":begin -->";
    String endMark = "<!-- " + section + ":end -->";
    int begin = text.indexOf(beginMark);
    int end = text.indexOf(endMark);
    if (begin < 0 || end < begin) {
      throw new IOException(
          page + " needs the lines " + beginMark + " and " + endMark + ", in this order");
    }
    Files.writeString(
        page,
        text.substring(0, begin + beginMark.length())
            + "\n"
            + content.strip()
            + "\n"
            + text.substring(end));
  }
}
