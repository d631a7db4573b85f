package lsmlab.server.command;

import com.fasterxml.jackson.core.JsonProcessingException;
import java.util.concurrent.Callable;
import lsmlab.server.variant.Variants;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Lists the variants. */
@Command(
    name = "variants",
    description =
        "The variants: how a request reaches the storage. One a line; a configuration's key `variant` names one.",
    mixinStandardHelpOptions = true)
public final class VariantsCommand implements Callable<Integer> {

  @Spec private CommandSpec spec;

  @Option(names = "--json", description = "As JSON: [{name, summary}].")
  private boolean json;

  @Override
  public Integer call() throws JsonProcessingException {
    Listing.print(
        spec.commandLine().getOut(),
        Variants.all().stream().map(e -> new Listing.Item(e.name(), e.summary())).toList(),
        json);
    return 0;
  }
}
