package lsmlab.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.CommandLineOptionException;
import org.openjdk.jmh.runner.options.CommandLineOptions;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Unmatched;

/** {@code micro}: the JMH benchmarks, with JMH's own options. */
@Command(
    name = "micro",
    description = {
      "Runs the JMH benchmarks; what follows goes to JMH.",
      "For example: micro Allocation -prof gc; micro Crc; micro -lp"
    })
final class BenchMicro implements Callable<Integer> {

  @Parameters(description = "JMH's arguments: a pattern of benchmarks and options")
  private List<String> patterns = List.of();

  @Unmatched private List<String> options = new ArrayList<>();

  @Override
  public Integer call() throws CommandLineOptionException, RunnerException {
    List<String> arguments = new ArrayList<>(patterns);
    arguments.addAll(options);
    new Runner(new CommandLineOptions(arguments.toArray(String[]::new))).run();
    return 0;
  }
}
