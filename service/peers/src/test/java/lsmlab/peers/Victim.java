package lsmlab.peers;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import lsmlab.storage.Durability;
import lsmlab.storage.Engine;
import lsmlab.storage.LsmOptions;

/**
 * A process that writes numbered pairs, prints the number of each acknowledged write, and is killed
 * while it writes.
 */
final class Victim {

  /** Number of acknowledged writes before the kill. */
  static final int WRITES = 500;

  private Victim() {}

  static String value(int i) {
    return "value " + i + " " + "y".repeat(i % 100);
  }

  /**
   * Runs a victim, kills it and returns the number of acknowledged writes: those of keys 0 to that
   * number, exclusive.
   */
  static int run(String engine, Path store, Durability durability)
      throws IOException, InterruptedException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("--enable-native-access=ALL-UNNAMED", "-XX:TieredStopAtLevel=1", "-cp"));
    command.add(System.getProperty("java.class.path"));
    command.addAll(List.of(Victim.class.getName(), engine, store.toString(), durability.name()));
    Process process =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    int acknowledged = 0;
    try (BufferedReader lines = process.inputReader()) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        acknowledged = Integer.parseInt(line) + 1;
        if (acknowledged == WRITES) {
          process
              .toHandle()
              .destroyForcibly(); // unlike the process's own method it leaves the pipe readable
        }
      }
    }
    process.waitFor();
    return acknowledged;
  }

  /** Arguments: engine, directory, durability. */
  public static void main(String[] arguments) {
    LsmOptions options =
        LsmOptions.builder(Path.of(arguments[1]))
            .durability(Durability.valueOf(arguments[2]))
            .build();
    Engine engine = PeerEngines.find(arguments[0]).orElseThrow().factory().open(options);
    for (int i = 0; ; i++) {
      engine.put(EngineContract.bytes(EngineContract.key(i)), EngineContract.bytes(value(i)));
      System.out.print(i + "\n");
      System.out.flush();
    }
  }
}
