package lsmlab.bench.server;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import lsmlab.bench.storage.Stores;

/** A server process, pinned to its CPU and ready for requests. {@link #close} ends it and deletes its store. */
public final class ServerProcess implements AutoCloseable {

  private static final String READY = "ready data=";

  /** USER_HZ, the same on every Linux that Java runs on. */
  private static final double TICKS_PER_SECOND = 100;

  private static final int STOP_SECONDS = 20;

  private final ServerSettings settings;
  private final String name;
  private final Process process;
  private final Thread cleaner;
  private final Path store;
  private String data;

  private ServerProcess(ServerSettings settings, String name, Process process, Path store) {
    this.settings = settings;
    this.name = name;
    this.process = process;
    this.store = store;
    cleaner = new Thread(process::destroyForcibly, "server-cleaner");
    Runtime.getRuntime().addShutdownHook(cleaner);
  }

  /** Starts a contestant. Only one may run at a time, because all use the same directory for their store. */
  static ServerProcess start(ServerSettings settings, Contestant contestant)
      throws IOException, InterruptedException {
    Path store = settings.stores().resolve("scratch-server");
    Stores.delete(store);
    Files.createDirectories(store);
    if (contestant.isLoaded()) {
      linkDataset(settings, store);
    }
    List<String> command = java(settings);
    command.add("-Dorg.slf4j.simpleLogger.defaultLogLevel=error");
    // The server's log goes to the same terminal as the progress, so flushes are not logged.
    command.add("-Dorg.slf4j.simpleLogger.log.lsmlab.storage.event.EventLog=error");
    if (contestant.kind() != Contestant.Kind.SERVICE) {
      command.add("-Dorg.slf4j.simpleLogger.log.one.nio.os.NativeLibrary=off");
    }
    if (contestant.javaSockets()) {
      command.add("-Done.nio.net.force.java.socket=true");
    }
    switch (contestant.kind()) {
      case SERVICE ->
          command.addAll(
              List.of(
                  "-jar",
                  settings.serviceJar().toString(),
                  "serve",
                  "--config",
                  writeConfig(settings, contestant.keys(), store).toString()));
      case NOOP -> addMain(command, NoopServer.class, "0");
      case NOOP_WITH_VALUE ->
          addMain(command, NoopServer.class, Integer.toString(settings.valueBytes()));
      case FORTY_LINES_ON_SELECTOR ->
          addMain(command, FortyLinesServer.class, store.toString(), "selector");
      case FORTY_LINES_WITH_POOL ->
          addMain(command, FortyLinesServer.class, store.toString(), "pool");
      default -> throw new IllegalStateException(contestant.toString());
    }
    return started(settings, contestant.name(), command, store);
  }

  /** Links the dataset's tables into the store, because a table never changes, and copies the other files. */
  private static void linkDataset(ServerSettings settings, Path store) throws IOException {
    try (Stream<Path> files = Files.list(settings.dataset())) {
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

  private static Path writeConfig(ServerSettings settings, Map<String, String> keys, Path store)
      throws IOException {
    StringBuilder yaml =
        new StringBuilder("data_port: 0\nadmin_port: 0\nselectors: 1\ndata_dir: ").append(store);
    keys.forEach((key, value) -> yaml.append('\n').append(key).append(": ").append(value));
    return Files.writeString(
        settings.stores().resolve("scratch-service.yaml"), yaml.append('\n').toString());
  }

  /** Adds a main class of this module and its arguments, of which the first is a free port. */
  private static void addMain(List<String> command, Class<?> main, String... arguments)
      throws IOException {
    command.addAll(List.of("-cp", System.getProperty("java.class.path")));
    command.add(main.getName());
    try (ServerSocket socket = new ServerSocket(0)) {
      command.add(Integer.toString(socket.getLocalPort()));
    }
    command.addAll(List.of(arguments));
  }

  /** The start of a command: a JVM on the servers' CPU. */
  private static List<String> java(ServerSettings settings) {
    List<String> command = new ArrayList<>();
    command.addAll(List.of("taskset", "-c", Integer.toString(settings.serviceCpu())));
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(settings.jvmArguments());
    return command;
  }

  private static ServerProcess started(
      ServerSettings settings, String name, List<String> command, Path store)
      throws IOException, InterruptedException {
    Process process =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    ServerProcess server = new ServerProcess(settings, name, process, store);
    BufferedReader lines = process.inputReader();
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      if (line.startsWith(READY)) {
        server.data = line.substring(READY.length()).split(" ")[0];
        return server;
      }
    }
    server.close();
    throw new IOException(name + " did not start; its message is above");
  }

  /** Makes the dataset if it does not exist; with {@code again} deletes it first. */
  public static void makeDataset(ServerSettings settings, boolean again)
      throws IOException, InterruptedException {
    if (again) {
      Stores.delete(settings.dataset());
    }
    if (Files.isDirectory(settings.dataset())) {
      return;
    }
    Files.createDirectories(settings.stores());
    Path making = settings.stores().resolve("scratch-dataset");
    Stores.delete(making);
    run(
        settings,
        List.of(
            "load-dataset",
            "--dir=" + making,
            "--seed=1",
            "--tables=8",
            "--pairs=" + settings.pairs(),
            "--value-bytes=" + settings.valueBytes()));
    Files.move(making, settings.dataset());
  }

  /** The names of the service's variants. */
  public static List<String> variants(ServerSettings settings)
      throws IOException, InterruptedException {
    JsonNode list = new ObjectMapper().readTree(run(settings, List.of("variants", "--json")));
    return list.findValuesAsText("name");
  }

  /** Runs a command of the service other than {@code serve}, and returns its output. */
  private static String run(ServerSettings settings, List<String> arguments)
      throws IOException, InterruptedException {
    List<String> command = java(settings);
    command.addAll(List.of("-jar", settings.serviceJar().toString()));
    command.addAll(arguments);
    Process process =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    String output = new String(process.getInputStream().readAllBytes());
    if (process.waitFor() != 0) {
      throw new IOException(
          "the service's " + arguments.getFirst() + " failed; its message is above");
    }
    return output;
  }

  /**
   * Pins the process to its own CPU if {@code alone}, otherwise to that and the load generator's. On one CPU that it shares
   * with busy threads, the JIT compiler takes minutes to compile the hot methods, so a warm-up uses both.
   */
  void pin(boolean alone) throws IOException, InterruptedException {
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

  /**
   * CPU time that the process has used so far, in seconds, in steps of 10 ms. Leaves out the JIT compiler, whose work is not
   * part of a request's cost.
   */
  double cpuSeconds() throws IOException {
    return ticks(proc("stat")) / TICKS_PER_SECOND - compilerSeconds();
  }

  /**
   * CPU time that the JIT compiler has used so far, in seconds, in steps of 10 ms. A JVM that starts on one CPU has one
   * thread for each of C1 and C2, which live as long as the JVM.
   */
  double compilerSeconds() throws IOException {
    long ticks = 0;
    try (Stream<Path> threads = Files.list(proc("task"))) {
      for (Path thread : threads.toList()) {
        ticks += isCompiler(thread) ? ticks(thread.resolve("stat")) : 0;
      }
    }
    return ticks / TICKS_PER_SECOND;
  }

  private static boolean isCompiler(Path thread) throws IOException {
    try {
      String name = Files.readString(thread.resolve("comm"));
      return name.startsWith("C1 Compiler") || name.startsWith("C2 Compiler");
    } catch (NoSuchFileException e) {
      return false; // the thread has ended, so it was not a compiler thread
    }
  }

  private static long ticks(Path stat) throws IOException {
    return ticks(Files.readString(stat));
  }

  /** Sum of user and system time, in ticks, from the text of a stat file; see proc_pid_stat(5). */
  static long ticks(String stat) {
    String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
    return Long.parseLong(fields[11]) + Long.parseLong(fields[12]);
  }

  /** Resident anonymous memory in bytes. Pages of mapped tables do not count, because the kernel may drop them. */
  long residentBytes() throws IOException {
    for (String line : Files.readAllLines(proc("status"))) {
      if (line.startsWith("RssAnon:")) {
        return 1024 * Long.parseLong(line.replaceAll("[^0-9]", ""));
      }
    }
    throw new IOException(proc("status") + " has no RssAnon");
  }

  private Path proc(String file) {
    return Path.of("/proc", Long.toString(process.pid()), file);
  }

  boolean isAlive() {
    return process.isAlive();
  }

  @Override
  public void close() throws IOException, InterruptedException {
    process.destroy();
    if (!process.waitFor(STOP_SECONDS, TimeUnit.SECONDS)) {
      process.destroyForcibly().waitFor();
    }
    Runtime.getRuntime().removeShutdownHook(cleaner);
    Stores.delete(store);
  }
}
