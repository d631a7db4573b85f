package lsmlab.server.admin;

import java.io.File;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import one.nio.os.NativeLibrary;

/** Describes the environment that this JVM sees. */
public final class Environment {

  private static final Pattern LIBRARY = Pattern.compile("(.+?)-(\\d[^/]*)\\.jar");

  private Environment() {}

  /** Whether one-nio uses its native epoll transport; figures with and without it are not comparable. */
  public static boolean nativeTransport() {
    return NativeLibrary.IS_SUPPORTED;
  }

  public static String javaVersion() {
    return System.getProperty("java.version");
  }

  /** Adds all facts about the environment to {@code target}, in the order in which {@code /config} shows them. */
  public static void describe(Map<String, Object> target) {
    target.put("java_version", javaVersion());
    target.put(
        "java_vm",
        System.getProperty("java.vm.name") + " " + System.getProperty("java.vm.version"));
    target.put("jvm_flags", ManagementFactory.getRuntimeMXBean().getInputArguments());
    target.put("gc", gc());
    target.put("native_transport", nativeTransport());
    target.put("available_processors", Runtime.getRuntime().availableProcessors());
    target.put("heap_bytes_max", Runtime.getRuntime().maxMemory());
    target.put("libraries", libraries());
    target.put("pid", ProcessHandle.current().pid());
  }

  /** Returns the garbage collector's name without its generations: {@code G1}, {@code ZGC}, … */
  private static String gc() {
    return ManagementFactory.getGarbageCollectorMXBeans().stream()
        .map(GarbageCollectorMXBean::getName)
        .map(name -> name.split(" ", 2)[0])
        .distinct()
        .collect(Collectors.joining(", "));
  }

  /**
   * Returns the libraries and their versions, taken from the names of the jar files beside the service's jar or on the
   * class path.
   */
  static Map<String, String> libraries() {
    Map<String, String> libraries = new TreeMap<>();
    String[] entries =
        System.getProperty("java.class.path").split(Pattern.quote(File.pathSeparator), -1);
    if (entries.length == 1) {
      File[] beside =
          new File(new File(entries[0]).getAbsoluteFile().getParentFile(), "lib").listFiles();
      entries =
          beside == null
              ? entries
              : Arrays.stream(beside).map(File::getPath).toArray(String[]::new);
    }
    for (String entry : entries) {
      Path file = Path.of(entry).getFileName();
      Matcher matcher = LIBRARY.matcher(file == null ? "" : file.toString());
      if (matcher.matches()) {
        libraries.put(matcher.group(1), matcher.group(2));
      }
    }
    return libraries;
  }
}
