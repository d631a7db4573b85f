package lsmlab.server.process;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import lsmlab.server.Main;
import lsmlab.server.http.RawClient;

/** The service in a JVM of its own, as a user starts it. */
final class ServiceProcess implements AutoCloseable {

  private final Process process;
  private final Path errors;
  private final BufferedReader output;
  private int dataPort;
  private int adminPort;

  private ServiceProcess(List<String> jvmFlags, List<String> arguments) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(
        List.of(
            "-Xmx256m",
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            "--enable-native-access=ALL-UNNAMED",
            "--sun-misc-unsafe-memory-access=allow"));
    command.addAll(jvmFlags);
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), Main.class.getName()));
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

  /** Serves with these lines in its configuration, which get free ports; returns when it is ready. */
  static ServiceProcess serve(Path directory, String... lines) throws IOException {
    return serve(directory, List.of(), lines);
  }

  /** As the other form, with more flags for the JVM, which win over the usual ones. */
  static ServiceProcess serve(Path directory, List<String> jvmFlags, String... lines)
      throws IOException {
    Path config = directory.resolve("service.yaml");
    Files.writeString(
        config,
        "data_dir: "
            + directory.resolve("store")
            + "\ndata_port: 0\nadmin_port: 0\n"
            + String.join("\n", lines));
    ServiceProcess service =
        new ServiceProcess(jvmFlags, List.of("serve", "--config", config.toString()));
    String ready = service.output.readLine();
    if (ready == null || !ready.matches("ready data=127.0.0.1:\\d+ admin=127.0.0.1:\\d+")) {
      throw new IOException("not ready but: " + ready + "\n" + service.errors());
    }
    String[] parts = ready.split("[ :]");
    service.dataPort = Integer.parseInt(parts[2]);
    service.adminPort = Integer.parseInt(parts[4]);
    return service;
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
