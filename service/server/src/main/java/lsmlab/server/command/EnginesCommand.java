package lsmlab.server.command;

import com.fasterxml.jackson.core.JsonProcessingException;
import java.util.concurrent.Callable;
import lsmlab.storage.engines.Engines;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Lists the engines. */
@Command(
    name = "engines",
    description =
        "The engines: what keeps the pairs. One a line; a configuration's key `engine` names one.",
    mixinStandardHelpOptions = true)
public final class EnginesCommand implements Callable<Integer> {

  @Spec private CommandSpec spec;

  @Option(names = "--json", description = "As JSON: [{name, summary}].")
  private boolean json;

  @Override
  public Integer call() throws JsonProcessingException {
    Listing.print(
        spec.commandLine().getOut(),
        Engines.all().stream().map(e -> new Listing.Item(e.name(), e.summary())).toList(),
        json);
    return 0;
  }
}
