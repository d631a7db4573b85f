package lsmlab.server.command;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.PrintWriter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import lsmlab.server.variant.Variants;
import lsmlab.storage.engines.Engines;
import lsmlab.storage.table.TableFormat;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Lists names with their summaries, as text or as JSON. */
public abstract class ListingCommand implements Callable<Integer> {

  /** Lists the variants. */
  @Command(
      name = "variants",
      description =
          "Lists the variants, one a line: how a request reaches the storage. The key `variant` of a configuration selects one.",
      mixinStandardHelpOptions = true)
  public static final class OfVariants extends ListingCommand {
    public OfVariants() {
      Variants.all().forEach(entry -> summaries.put(entry.name(), entry.summary()));
    }
  }

  /** Lists the engines. */
  @Command(
      name = "engines",
      description =
          "Lists the engines, one a line: what stores the pairs. The key `engine` of a configuration selects one.",
      mixinStandardHelpOptions = true)
  public static final class OfEngines extends ListingCommand {
    public OfEngines() {
      Engines.all().forEach(entry -> summaries.put(entry.name(), entry.summary()));
    }
  }

  /** Lists the versions of the table format: they change when tables written earlier cannot be read any more. */
  @Command(
      name = "table-format",
      description = "Lists the versions of the tables that this service writes, one a line.",
      mixinStandardHelpOptions = true)
  public static final class OfTableFormat extends ListingCommand {
    public OfTableFormat() {
      summaries.put("" + TableFormat.VERSION, "tables without compressed blocks");
      summaries.put("" + TableFormat.VERSION_COMPRESSED, "tables with compressed blocks");
    }
  }

  /** Summaries by name, in the order of the listing. */
  final Map<String, String> summaries = new LinkedHashMap<>();

  @Spec private CommandSpec spec;

  @Option(names = "--json", description = "Print JSON: [{name, summary}].")
  private boolean json;

  @Override
  public Integer call() throws JsonProcessingException {
    PrintWriter out = spec.commandLine().getOut();
    if (json) {
      List<Map<String, String>> items =
          summaries.entrySet().stream().map(ListingCommand::item).toList();
      out.println(new ObjectMapper().writeValueAsString(items));
    } else {
      int width = summaries.keySet().stream().mapToInt(String::length).max().orElse(1);
      summaries.forEach((name, summary) -> out.printf("%-" + width + "s  %s%n", name, summary));
    }
    out.flush();
    return 0;
  }

  private static Map<String, String> item(Map.Entry<String, String> entry) {
    Map<String, String> item = new LinkedHashMap<>();
    item.put("name", entry.getKey());
    item.put("summary", entry.getValue());
    return item;
  }
}
