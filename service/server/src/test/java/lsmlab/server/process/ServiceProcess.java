package lsmlab.server.process;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import lsmlab.server.command.Main;
import lsmlab.server.http.RawClient;

/** The service in a JVM of its own, as a user starts it. */
final class ServiceProcess implements AutoCloseable {

  private final Process process;
  private final Path errors;
  private final BufferedReader output;
  private int dataPort;
  private int adminPort;

  private ServiceProcess(List<String> jvmFlags, List<String> arguments) throws IOException {
    this(List.of(), System.getProperty("java.class.path"), jvmFlags, arguments);
  }

  private ServiceProcess(
      List<String> launcher, String classPath, List<String> jvmFlags, List<String> arguments)
      throws IOException {
    List<String> command = new ArrayList<>(launcher);
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(
        List.of(
            "-ea",
            "-Xmx256m",
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            "--enable-native-access=ALL-UNNAMED",
            "--sun-misc-unsafe-memory-access=allow"));
    command.addAll(jvmFlags);
    command.addAll(List.of("-cp", classPath, Main.class.getName()));
    command.addAll(arguments);
    errors = Files.createTempFile("service", ".err");
    process = new ProcessBuilder(command).redirectError(errors.toFile()).start();
    output =
        new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
  }

  /** Runs any command. */
  static ServiceProcess run(String... arguments) throws IOException {
    return new ServiceProcess(List.of(), List.of(arguments));
  }

  /** Runs any command with classes that replace the service's own. */
  static ServiceProcess runWith(Path classes, String... arguments) throws IOException {
    String classPath = classes + File.pathSeparator + System.getProperty("java.class.path");
    return new ServiceProcess(List.of(), classPath, List.of(), List.of(arguments));
  }

  /** Serves with these lines in its configuration, which get free ports; returns when it is ready. */
  static ServiceProcess serve(Path directory, String... lines) throws IOException {
    return serve(directory, List.of(), lines);
  }

  /** Like the other form, with more flags for the JVM, which override the usual ones. */
  static ServiceProcess serve(Path directory, List<String> jvmFlags, String... lines)
      throws IOException {
    return serve(directory, List.of(), jvmFlags, lines);
  }

  /** Like the first form, in a process with this limit of open files. */
  static ServiceProcess serveWithFiles(Path directory, int filesMax, String... lines)
      throws IOException {
    String limit = "ulimit -n " + filesMax + "; exec \"$@\"";
    return serve(directory, List.of("sh", "-c", limit, "sh"), List.of(), lines);
  }

  /**
   * Makes every fdatasync(2) of the process fail from now on, as on a device that cannot keep data.
   *
   * @return end it to stop that; null if strace is missing or may not trace
   */
  Process failSyncs() throws IOException {
    List<String> command =
        List.of("strace", "-f", "-e", "inject=fdatasync:error=EIO", "-p", "" + process.pid());
    Process strace;
    try {
      strace = new ProcessBuilder(command).start();
    } catch (IOException e) {
      return null;
    }
    String attached = strace.errorReader().readLine();
    return attached != null && attached.contains(" attached") ? strace : null;
  }

  private static ServiceProcess serve(
      Path directory, List<String> launcher, List<String> jvmFlags, String... lines)
      throws IOException {
    Path config = directory.resolve("service.yaml");
    Files.writeString(
        config,
        "data_dir: "
            + directory.resolve("store")
            + "\ndata_port: 0\nadmin_port: 0\n"
            + String.join("\n", lines));
    ServiceProcess service =
        new ServiceProcess(
            launcher,
            System.getProperty("java.class.path"),
            jvmFlags,
            List.of("serve", "--config", config.toString()));
    service.awaitReady();
    return service;
  }

  /** Waits for the line of {@code serve} that names the ports. */
  void awaitReady() throws IOException {
    String ready = output.readLine();
    if (ready == null || !ready.matches("ready data=127.0.0.1:\\d+ admin=127.0.0.1:\\d+")) {
      throw new IOException("not ready but: " + ready + "\n" + errors());
    }
    String[] parts = ready.split("[ :]");
    dataPort = Integer.parseInt(parts[2]);
    adminPort = Integer.parseInt(parts[4]);
  }

  RawClient connect() throws IOException {
    return new RawClient(dataPort);
  }

  RawClient connect(int receiveBufferBytes) throws IOException {
    return new RawClient(dataPort, receiveBufferBytes);
  }

  int adminPort() {
    return adminPort;
  }

  int dataPort() {
    return dataPort;
  }

  /** kill -9. */
  void kill() {
    process.destroyForcibly();
  }

  /** kill -TERM. */
  void terminate() {
    process.destroy();
  }

  int exitCode() throws InterruptedException {
    if (!process.waitFor(60, TimeUnit.SECONDS)) {
      throw new IllegalStateException("it does not end");
    }
    return process.exitValue();
  }

  String output() throws IOException {
    return String.join("\n", output.readAllLines());
  }

  String errors() throws IOException {
    return Files.readString(errors);
  }

  @Override
  public void close() throws IOException {
    process.destroyForcibly();
    try {
      process.waitFor();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    Files.delete(errors);
  }
}
