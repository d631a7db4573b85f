package lsmlab.bench.storage;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;

/**
 * A JVM that runs one workload on one engine. The parent calls {@link #start}. The child's {@link
 * #main} prints its figures as one line of JSON after {@value #MARK} and halts, so a workload can
 * leave a store unclosed.
 */
public final class Fork {

  private static final String MARK = "figures ";
  private static final ObjectMapper JSON = new ObjectMapper();

  private Fork() {}

  /**
   * Runs a workload. All other output of its JVM goes to standard error.
   *
   * @param wrapper returns the command to start, given the command of the JVM
   * @throws IOException if the JVM ends without figures
   */
  public static Map<String, Double> start(
      String workload,
      String engine,
      Settings settings,
      List<String> jvmArguments,
      UnaryOperator<List<String>> wrapper)
      throws IOException, InterruptedException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(jvmArguments);
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), Fork.class.getName()));
    command.addAll(List.of(workload, engine, JSON.writeValueAsString(settings)));
    Process process =
        new ProcessBuilder(wrapper.apply(command))
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    Thread cleaner = new Thread(process::destroyForcibly, "fork-cleaner");
    Runtime.getRuntime().addShutdownHook(cleaner);
    String figures = null;
    try (BufferedReader lines = process.inputReader()) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        if (line.startsWith(MARK)) {
          figures = line.substring(MARK.length());
        } else {
          System.err.println(line);
        }
      }
    } finally {
      process.destroy();
    }
    int exit = process.waitFor();
    Runtime.getRuntime().removeShutdownHook(cleaner);
    if (exit != 0 || figures == null) {
      throw new IOException(
          workload + " on " + engine + " failed (exit code " + exit + "); its message is above");
    }
    return JSON.readValue(figures, new TypeReference<>() {});
  }

  /** Arguments: workload, engine, settings as JSON. */
  public static void main(String[] arguments) throws Exception {
    Settings settings = JSON.readValue(arguments[2], Settings.class);
    Context context = new Context(arguments[1], settings, settings.makePairs());
    try {
      Map<String, Double> figures = Workloads.named(arguments[0]).run(context);
      System.out.println(MARK + JSON.writeValueAsString(figures));
      System.out.flush();
    } catch (Throwable failure) {
      failure.printStackTrace();
      Runtime.getRuntime().halt(1);
    }
    Runtime.getRuntime().halt(0);
  }
}
