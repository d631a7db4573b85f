package lsmlab.bench;

import picocli.CommandLine;
import picocli.CommandLine.Command;

/** The benchmarks' command line. Exit codes: 0 done, 1 a measurement failed, 2 usage. */
@Command(
    name = "lsmlab-bench",
    mixinStandardHelpOptions = true,
    description = "Benchmarks of the storage engine and of the whole service.",
    subcommands = {BenchStorage.class, BenchServer.class, BenchMicro.class})
public final class Main {

  private Main() {}

  public static void main(String[] arguments) {
    System.exit(commandLine().execute(arguments));
  }

  static CommandLine commandLine() {
    CommandLine commandLine = new CommandLine(new Main());
    commandLine.getSubcommands().get("micro").setUnmatchedOptionsArePositionalParams(true);
    return commandLine.setExecutionExceptionHandler(
        (failure, command, parsed) -> {
          command.getErr().println("failed: " + failure.getMessage());
          return 1;
        });
  }
}
