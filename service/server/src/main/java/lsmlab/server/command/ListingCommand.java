package lsmlab.server.command;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import lsmlab.server.config.Key;
import lsmlab.server.variant.Variants;
import lsmlab.storage.engines.Engines;
import lsmlab.storage.table.TableFormat;
import lsmlab.storage.textbook.TableFile;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Lists names with what they mean, as text or as JSON. */
public abstract class ListingCommand implements Callable<Integer> {

  /** Lists the variants. */
  @Command(
      name = "variants",
      description =
          "Lists the variants, one a line: how a request reaches the storage. The key `variant` of a configuration selects one.",
      mixinStandardHelpOptions = true)
  public static final class OfVariants extends ListingCommand {
    public OfVariants() {
      Variants.all().forEach(entry -> add(entry.name(), entry.summary()));
    }
  }

  /** Lists the engines. */
  @Command(
      name = "engines",
      description =
          "Lists the engines, one a line: what stores the pairs. The key `engine` of a configuration selects one. Keeps: what acknowledged writes survive: nothing; closed, a clean stop; killed, also kill -9.",
      mixinStandardHelpOptions = true)
  public static final class OfEngines extends ListingCommand {
    public OfEngines() {
      for (Engines.Entry entry : Engines.all()) {
        add(entry.name(), entry.summary(), "keeps", entry.keeps().name().toLowerCase(Locale.ROOT));
      }
    }
  }

  /** Lists the versions of the table format: they change when tables written earlier cannot be read any more. */
  @Command(
      name = "table-format",
      description = "Lists the versions of the tables that this service writes, one a line.",
      mixinStandardHelpOptions = true)
  public static final class OfTableFormat extends ListingCommand {
    public OfTableFormat() {
      add("" + TableFormat.VERSION, "tables without compressed blocks");
      add("" + TableFormat.VERSION_COMPRESSED, "tables with compressed blocks");
      add(TableFile.FORMAT, "tables of the engine textbook");
    }
  }

  /** Lists the keys of a configuration. */
  @Command(
      name = "config",
      description = "Lists the keys of service.yaml, one a line: name: default. Meaning.",
      mixinStandardHelpOptions = true)
  public static final class OfKeys extends ListingCommand {
    public OfKeys() {
      for (Key key : Key.ALL) {
        items.add(key.toMap());
        lines.add(key.toHelp());
      }
    }
  }

  /** The objects of the JSON. */
  final List<Map<String, ?>> items = new ArrayList<>();

  /** The lines of the text. */
  final List<String> lines = new ArrayList<>();

  /** Adds an entry with a name of at most 15 characters. */
  final void add(String name, String summary) {
    items.add(item(name, summary));
    lines.add("%-15s  %s".formatted(name, summary));
  }

  /** Adds an entry that has one property more, with a value of at most 7 characters. */
  final void add(String name, String summary, String property, String value) {
    Map<String, String> item = item(name, summary);
    item.put(property, value);
    items.add(item);
    lines.add("%-15s  %s %-7s  %s".formatted(name, property, value, summary));
  }

  private static Map<String, String> item(String name, String summary) {
    Map<String, String> item = new LinkedHashMap<>();
    item.put("name", name);
    item.put("summary", summary);
    return item;
  }

  @Spec private CommandSpec spec;

  @Option(names = "--json", description = "Print JSON: a list of objects, each with a name.")
  private boolean json;

  @Override
  public Integer call() throws JsonProcessingException {
    PrintWriter out = spec.commandLine().getOut();
    if (json) {
      out.println(new ObjectMapper().writeValueAsString(items));
    } else {
      lines.forEach(out::println);
    }
    out.flush();
    return 0;
  }
}
