package lsmlab.bench.report;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Where a benchmark ran: what a reader must know before comparing its figures with others. */
public final class Environment {

  private static final Path CPU_INFO = Path.of("/proc/cpuinfo");
  private static final Path LOAD = Path.of("/proc/loadavg");

  private Environment() {}

  /** The environment of now, by name. */
  public static Map<String, String> describe(List<String> jvmArguments) {
    Map<String, String> facts = new LinkedHashMap<>();
    facts.put("at", Instant.now().truncatedTo(ChronoUnit.SECONDS).toString());
    facts.put("cpu", line(CPU_INFO, "model name"));
    facts.put("cpus", Integer.toString(Runtime.getRuntime().availableProcessors()));
    facts.put("kernel", System.getProperty("os.name") + " " + System.getProperty("os.version"));
    facts.put(
        "jvm", System.getProperty("java.vm.name") + " " + System.getProperty("java.vm.version"));
    facts.put("jvm_arguments", String.join(" ", jvmArguments));
    facts.put("load_average_at_start", loadAverage());
    return facts;
  }

  private static String line(Path file, String key) {
    try {
      for (String line : Files.readAllLines(file)) {
        if (line.startsWith(key)) {
          return line.substring(line.indexOf(':') + 1).strip();
        }
      }
    } catch (IOException e) {
      return "unknown";
    }
    return "unknown";
  }

  /** Mean number of runnable threads over the last minute; above 0 the machine was not idle. */
  private static String loadAverage() {
    try {
      return Files.readString(LOAD).split(" ", 2)[0];
    } catch (IOException e) {
      return "unknown";
    }
  }
}
