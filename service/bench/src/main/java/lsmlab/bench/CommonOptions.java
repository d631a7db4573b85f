package lsmlab.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import lsmlab.bench.harness.Environment;
import lsmlab.bench.harness.Results;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The options that both benchmarks have, and how they refuse one. */
final class CommonOptions {

  @Spec(Spec.Target.MIXEE)
  private CommandSpec spec;

  @Option(
      names = "--quick",
      description = "a look of under 3 minutes: few rounds, short intervals; not for quoting")
  boolean quick;

  @Option(names = "--value-bytes", description = "mean bytes of a value (${DEFAULT-VALUE})")
  int valueBytes = 500;

  @Option(names = "--stores", description = "directory of the stores (${DEFAULT-VALUE})")
  private Path stores = Path.of(".cache/bench");

  @Option(names = "--reload", description = "make the loaded stores anew")
  boolean reload;

  @Option(names = "--out", description = "directory of the results (${DEFAULT-VALUE})")
  private Path out = Path.of("results/bench");

  @Option(
      names = "--update-docs",
      description = "page whose tables are replaced, between its markers")
  private Path page;

  Path stores() {
    return stores.toAbsolutePath();
  }

  /** Refuses what is wrong with these options. */
  void check() {
    atLeastOne("--value-bytes", valueBytes);
    if (page != null && !Files.isWritable(page)) {
      throw refused("--update-docs: " + page + " is not a file that can be written");
    }
  }

  /** Returns {@code value}; in a quick look, {@code quickValue} unless the option was given. */
  <T> T unlessQuick(String option, T value, T quickValue) {
    boolean given = spec.commandLine().getParseResult().hasMatchedOption(option);
    return quick && !given ? quickValue : value;
  }

  /** Where the results go; a quick look leaves the page as it is. */
  Results results(List<String> jvmArguments) throws IOException {
    return new Results(out, quick ? null : page, Environment.describe(jvmArguments));
  }

  /** Refuses a value below 1. */
  void atLeastOne(String option, long value) {
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

  /** The error for options that make no sense: exit code 2. */
  ParameterException refused(String message) {
    return new ParameterException(spec.commandLine(), message);
  }
}
