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

/** Options of both benchmarks, and the checks of their values. */
final class CommonOptions {

  @Spec(Spec.Target.MIXEE)
  private CommandSpec spec;

  @Option(
      names = "--quick",
      description =
          "a short trial, under 3 minutes: one round, short intervals; do not quote its figures")
  boolean quick;

  @Option(names = "--value-bytes", description = "mean bytes of a value (${DEFAULT-VALUE})")
  int valueBytes = 500;

  @Option(names = "--stores", description = "directory of the stores (${DEFAULT-VALUE})")
  private Path stores = Path.of(".cache/bench");

  @Option(names = "--reload", description = "make the loaded stores again")
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

  /** Throws {@link #refused} if one of these options has an invalid value. */
  void check() {
    atLeastOne("--value-bytes", valueBytes);
    if (page != null && !Files.isWritable(page)) {
      throw refused("--update-docs: " + page + " is not a file that can be written");
    }
  }

  /** Returns {@code quickValue} with {@code --quick} if the option was not given, otherwise {@code value}. */
  <T> T unlessQuick(String option, T value, T quickValue) {
    boolean given = spec.commandLine().getParseResult().hasMatchedOption(option);
    return quick && !given ? quickValue : value;
  }

  /** Returns the writer of the results. With {@code --quick} it does not update the page. */
  Results results(List<String> jvmArguments) throws IOException {
    return new Results(out, quick ? null : page, Environment.describe(jvmArguments));
  }

  /** Throws {@link #refused} if the value is below 1. */
  void atLeastOne(String option, long value) {
    if (value < 1) {
      throw refused(option + " must be 1 or more, not " + value);
    }
  }

  /** Throws {@link #refused} if one of {@code words} is not known. */
  void known(String option, String kind, List<String> words, List<String> known) {
    for (String word : words) {
      if (!known.contains(word)) {
        throw refused(option + ": no " + kind + " '" + word + "'; there are " + known);
      }
    }
  }

  /** Returns the error for an invalid option, which ends the command with exit code 2. */
  ParameterException refused(String message) {
    return new ParameterException(spec.commandLine(), message);
  }
}
