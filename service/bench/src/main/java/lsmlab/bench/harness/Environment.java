package lsmlab.bench.harness;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Facts about the machine and the JVM, without which figures cannot be compared with those of another machine. */
public final class Environment {

  private Environment() {}

  /** Returns the facts by name. A load average above 0 means that the machine was busy before the benchmark. */
  public static Map<String, String> describe(List<String> jvmArguments) {
    Map<String, String> facts = new LinkedHashMap<>();
    facts.put("at", Instant.now().truncatedTo(ChronoUnit.SECONDS).toString());
    facts.put(
        "cpu",
        firstLine(Path.of("/proc/cpuinfo"), "model name").replaceFirst("^[^:]*:", "").strip());
    facts.put("cpus", Integer.toString(Runtime.getRuntime().availableProcessors()));
    facts.put("kernel", System.getProperty("os.name") + " " + System.getProperty("os.version"));
    facts.put(
        "jvm", System.getProperty("java.vm.name") + " " + System.getProperty("java.vm.version"));
    facts.put("jvm_arguments", String.join(" ", jvmArguments));
    facts.put("load_average_at_start", firstLine(Path.of("/proc/loadavg"), "").split(" ", 2)[0]);
    return facts;
  }

  private static String firstLine(Path file, String start) {
    try {
      return Files.readAllLines(file).stream()
          .filter(line -> line.startsWith(start))
          .findFirst()
          .orElse("unknown");
    } catch (IOException e) {
      return "unknown";
    }
  }
}
