package lsmlab.bench.server;

import java.io.BufferedReader;
import java.io.IOException;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import lsmlab.bench.workload.Stores;

/** A server process on its CPU, ready to take requests; gone when closed. */
final class Server implements AutoCloseable {

  private static final String READY = "ready data=";
  private static final long TICKS_PER_SECOND =
      100; // USER_HZ, the same on every Linux that Java runs on

  /** As the kernel names them: 15 characters of what Java does. */
  private static final Predicate<String> WORKER =
      Pattern.compile("^(worker-|ForkJoinPool-)").asPredicate();

  private final String name;
  private final Process process;
  private final Thread cleaner;
  private final Path store;
  private String data;
  private String admin;

  private Server(String name, Process process, Path store) {
    this.name = name;
    this.process = process;
    this.store = store;
    cleaner = new Thread(process::destroyForcibly, "server-cleaner");
    Runtime.getRuntime().addShutdownHook(cleaner);
  }

  /** one-nio's server with a handler that answers GET with so many bytes. */
  static Server noop(ServerBench.Settings settings, int replyBytes)
      throws IOException, InterruptedException {
    List<String> command = java(settings);
    command.addAll(List.of("-cp", System.getProperty("java.class.path")));
    command.add(
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"); // its one line says what the service's
    // says
    command.add(NoopServer.class.getName());
    command.addAll(List.of(Integer.toString(freePort()), Integer.toString(replyBytes)));
    return start("no-op", command, null);
  }

  /**
   * The service with a configuration of its own. One of each variant at a time: their stores have its name.
   *
   * @param keys what service.yaml says besides ports and store
   * @param loaded whether it starts with the dataset (hard links of its tables) or empty
   */
  static Server service(ServerBench.Settings settings, Map<String, String> keys, boolean loaded)
      throws IOException, InterruptedException {
    String name = keys.getOrDefault("variant", "service");
    Path store = settings.stores().resolve("scratch-server-" + name);
    Stores.delete(store);
    Files.createDirectories(store);
    if (loaded) {
      try (var files = Files.list(settings.dataset())) {
        for (Path file : files.toList()) {
          Path to = store.resolve(file.getFileName());
          if (file.toString().endsWith(".sst")) {
            Files.createLink(to, file);
          } else {
            Files.copy(file, to);
          }
        }
      }
    }
    StringBuilder yaml =
        new StringBuilder("data_port: 0\nadmin_port: 0\nselectors: 1\ndata_dir: ").append(store);
    keys.forEach((key, value) -> yaml.append('\n').append(key).append(": ").append(value));
    Path config = settings.stores().resolve("scratch-service.yaml");
    Files.writeString(config, yaml.append('\n').toString());
    List<String> command = java(settings);
    command.addAll(List.of("-jar", settings.serviceJar().toString()));
    command.addAll(List.of("serve", "--config", config.toString()));
    return start(name, command, store);
  }

  /** Makes the dataset where it is not there yet. */
  static void load(ServerBench.Settings settings) throws IOException, InterruptedException {
    if (Files.isDirectory(settings.dataset())) {
      return;
    }
    Files.createDirectories(settings.stores());
    Path making = settings.stores().resolve("scratch-dataset");
    Stores.delete(making);
    List<String> command = java(settings);
    command.addAll(List.of("-jar", settings.serviceJar().toString(), "load-dataset"));
    command.addAll(List.of("--dir", making.toString(), "--seed", "1", "--tables", "8"));
    command.addAll(List.of("--pairs", Integer.toString(settings.pairs())));
    command.addAll(List.of("--value-bytes", Integer.toString(settings.valueBytes())));
    int exit =
        new ProcessBuilder(command)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start()
            .waitFor();
    if (exit != 0) {
      throw new IOException("the dataset could not be made (exit code " + exit + ")");
    }
    Files.move(making, settings.dataset());
  }

  /** The command that starts a JVM on the servers' CPU. */
  static List<String> java(ServerBench.Settings settings) {
    List<String> command = new ArrayList<>();
    command.addAll(List.of("taskset", "-c", Integer.toString(settings.serviceCpu())));
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(settings.jvmArguments());
    return command;
  }

  private static Server start(String name, List<String> command, Path store)
      throws IOException, InterruptedException {
    Process process =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    Server server = new Server(name, process, store);
    BufferedReader lines = process.inputReader();
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      if (line.startsWith(READY)) {
        String[] words = line.substring(READY.length()).split(" admin=");
        server.data = words[0];
        server.admin = words.length > 1 ? words[1] : null;
        return server;
      }
    }
    server.close();
    throw new IOException(name + " did not start; its message is above");
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0)) {
      return socket.getLocalPort();
    }
  }

  /**
   * Lets the process run on the load generator's CPU too, or on its own alone. A JVM that shares its one CPU with eight
   * busy workers compiles for minutes; how fast it becomes fast is not what is measured here.
   */
  void pin(ServerBench.Settings settings, boolean alone) throws IOException, InterruptedException {
    String cpus = settings.serviceCpu() + (alone ? "" : "," + settings.loadCpu());
    int exit =
        new ProcessBuilder("taskset", "-a", "-c", "-p", cpus, Long.toString(process.pid()))
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start()
            .waitFor();
    if (exit != 0) {
      throw new IOException(name + " could not be pinned to CPU " + cpus);
    }
  }

  String name() {
    return name;
  }

  String url() {
    return "http://" + data;
  }

  /** Seconds of CPU that the process has used. */
  double cpuSeconds() throws IOException {
    String stat = Files.readString(Path.of("/proc", Long.toString(process.pid()), "stat"));
    String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
    return (double) (Long.parseLong(fields[11]) + Long.parseLong(fields[12])) / TICKS_PER_SECOND;
  }

  /**
   * How often threads have got the CPU so far, and how long they had waited for it.
   *
   * @param times how often
   * @param waitedNanos together
   */
  record CpuWaits(long times, long waitedNanos) {

    /** Mean wait since an earlier reading, in milliseconds; NaN where there was none. */
    double meanMillisSince(CpuWaits earlier) {
      return (double) (waitedNanos - earlier.waitedNanos) / (times - earlier.times) / 1e6;
    }
  }

  /** The waits of the threads that run requests for the selector thread: workers, and what carries virtual threads. */
  CpuWaits workersCpuWaits() throws IOException {
    long times = 0;
    long waited = 0;
    try (var tasks = Files.list(Path.of("/proc", Long.toString(process.pid()), "task"))) {
      for (Path task : tasks.toList()) {
        try {
          if (WORKER.test(Files.readString(task.resolve("comm")))) {
            String[] fields = Files.readString(task.resolve("schedstat")).strip().split(" ");
            waited += Long.parseLong(fields[1]);
            times += Long.parseLong(fields[2]);
          }
        } catch (NoSuchFileException e) {
          // the thread has ended meanwhile
        }
      }
    }
    return new CpuWaits(times, waited);
  }

  /** Most memory that the process has had resident, in bytes. */
  long residentBytesMax() throws IOException {
    for (String line :
        Files.readAllLines(Path.of("/proc", Long.toString(process.pid()), "status"))) {
      if (line.startsWith("VmHWM:")) {
        return 1024 * Long.parseLong(line.replaceAll("[^0-9]", ""));
      }
    }
    throw new IOException("/proc/" + process.pid() + "/status has no VmHWM");
  }

  /** The service's metrics as they are now. */
  Scrape scrape() throws IOException, InterruptedException {
    return Scrape.of(admin("GET", "/metrics"));
  }

  /** Has requests counted and timed from now on, or no longer. */
  void countRequests(boolean on) throws IOException, InterruptedException {
    admin("POST", "/request-metrics/" + (on ? "on" : "off"));
  }

  /** Has a service flush and merge everything and returns when it has; nothing where this is none. */
  void flushAndCompact() throws IOException, InterruptedException {
    if (admin != null) {
      admin("POST", "/flush");
      admin("POST", "/compact");
    }
  }

  private String admin(String method, String path) throws IOException, InterruptedException {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create("http://" + admin + path))
            .method(method, HttpRequest.BodyPublishers.noBody())
            .build();
    try (HttpClient client = HttpClient.newHttpClient()) {
      HttpResponse<String> reply = client.send(request, HttpResponse.BodyHandlers.ofString());
      if (reply.statusCode() != 200) {
        throw new IOException(path + " answered " + reply.statusCode() + ": " + reply.body());
      }
      return reply.body();
    }
  }

  boolean isAlive() {
    return process.isAlive();
  }

  @Override
  public void close() throws IOException, InterruptedException {
    process.destroy();
    if (!process.waitFor(20, TimeUnit.SECONDS)) {
      process.destroyForcibly().waitFor();
    }
    Runtime.getRuntime().removeShutdownHook(cleaner);
    if (store != null) {
      Stores.delete(store);
    }
  }
}
