package lsmlab.bench;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code micro}: the JMH benchmarks, with JMH's own command line. */
@Command(
    name = "micro",
    description = {
      "Runs the JMH benchmarks with JMH's own arguments.",
      "For example: micro Checksum; micro Memtable -prof gc; micro -l; micro -h"
    })
final class BenchMicro implements Callable<Integer> {

  @Parameters(description = "JMH's arguments: patterns of benchmarks and options")
  private List<String> arguments = List.of();

  @Override
  public Integer call() throws IOException {
    org.openjdk.jmh.Main.main(arguments.toArray(String[]::new));
    return 0;
  }
}
