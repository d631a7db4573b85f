package lsmlab.server.command;

import java.io.PrintWriter;
import lsmlab.server.config.ConfigException;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The service's command line. */
@Command(
    name = "lsmlab-server",
    description = "A persistent key-value store over HTTP, made to be measured.",
    subcommands = {
      ServeCommand.class,
      LoadDatasetCommand.class,
      VerifyCommand.class,
      ListingCommand.OfVariants.class,
      ListingCommand.OfEngines.class,
      ListingCommand.OfTableFormat.class,
      ListingCommand.OfKeys.class,
    },
    synopsisSubcommandLabel = "COMMAND",
    mixinStandardHelpOptions = true,
    versionProvider = Main.Version.class,
    footerHeading = "%nStart:%n",
    footer = {
      "  java @service/jvm.options -jar lsmlab-server.jar serve --config service.yaml",
      "  A service.yaml needs one key, data_dir; `serve --help` lists the others.",
      "",
      "Exit codes: 0 done, 1 failed, 2 bad usage or configuration."
    })
public final class Main implements Runnable {

  @Spec private CommandSpec spec;

  private Main() {}

  public static void main(String[] args) {
    System.exit(commandLine().execute(args));
  }

  static CommandLine commandLine() {
    return new CommandLine(new Main())
        .setExecutionExceptionHandler(
            (e, commandLine, parsed) -> {
              PrintWriter err = commandLine.getErr();
              err.println(commandLine.getCommandName() + ": " + oneLine(e));
              return e instanceof ConfigException ? 2 : 1;
            });
  }

  /** Returns a failure in one line: the first line of its message, or its class if it has no message. */
  private static String oneLine(Exception e) {
    String message = e.getMessage();
    return message == null || message.isBlank()
        ? e.toString()
        : message.lines().findFirst().orElseThrow();
  }

  @Override
  public void run() {
    throw new ParameterException(spec.commandLine(), "a COMMAND is required");
  }

  /** Reads the version from the jar's manifest. */
  static final class Version implements CommandLine.IVersionProvider {
    @Override
    public String[] getVersion() {
      String version = Main.class.getPackage().getImplementationVersion();
      return new String[] {"lsmlab-server " + (version == null ? "(not from its jar)" : version)};
    }
  }
}
