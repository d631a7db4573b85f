package lsmlab.storage.lsm;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import lsmlab.storage.Engine;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.OverloadedException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * kill -9 of a process that stores copies of its own log as values. Such bytes must not pass for
 * records of the log. The number of kills is the system property {@code lsmlab.kills}.
 */
class LogBytesKillTest {

  private static final int KILLS = Integer.getInteger("lsmlab.kills", 3);
  private static final int ACKNOWLEDGED_MIN = 40;
  private static final int THREADS = 4;
  private static final int KEYS = 10;
  private static final int VALUE_BYTES = 1 << 20;

  @TempDir Path directory;

  private static LsmOptions options(Path store) {
    return LsmOptions.builder(store).flushThresholdBytes(16 << 20).build();
  }

  @Test
  void everyKillLeavesAStoreWithAllAcknowledgedWrites() throws Exception {
    Path store = directory.resolve("store");
    SplittableRandom random = new SplittableRandom(1);
    Map<String, Long> acknowledged = new HashMap<>();
    for (int kill = 0; kill < KILLS; kill++) {
      Process process = start(store, kill);
      try (BufferedReader lines = process.inputReader()) {
        for (int i = 0; i < ACKNOWLEDGED_MIN; i++) {
          String line = lines.readLine();
          assertTrue(line != null, "the process ended by itself");
          note(line, acknowledged);
        }
        Thread.sleep(random.nextInt(200));
        process.toHandle().destroyForcibly(); // kill -9; unlike Process, it leaves the output open
        lines.lines().forEach(line -> note(line, acknowledged));
      }
      process.waitFor();
      try (Engine engine = LsmEngine.open(options(store))) {
        acknowledged.forEach(
            (key, number) -> {
              byte[] value = engine.get(key.getBytes(StandardCharsets.UTF_8));
              assertTrue(value != null, key + " is lost");
              long found = ByteBuffer.wrap(value).getLong();
              assertTrue(found >= number, key + " is " + found + ", acknowledged was " + number);
            });
      }
    }
  }

  private static void note(String line, Map<String, Long> acknowledged) {
    String[] words = line.split(" ", -1);
    if (words.length == 3) { // the last line may be cut
      acknowledged.merge(words[0], Long.parseLong(words[1]), Math::max);
    }
  }

  private static Process start(Path store, int round) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-ea", "-Xmx256m", "--enable-native-access=ALL-UNNAMED", "-cp"));
    command.add(System.getProperty("java.class.path"));
    command.addAll(List.of(Writer.class.getName(), store.toString(), Integer.toString(round)));
    return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
  }

  /** The separate process. */
  static final class Writer {

    private Writer() {}

    /** Arguments: the store; a number greater than in earlier processes. */
    public static void main(String[] arguments) {
      Path store = Path.of(arguments[0]);
      long first = Long.parseLong(arguments[1]) * 1_000_000 + 1;
      Engine engine = LsmEngine.open(options(store));
      for (int i = 0; i < THREADS; i++) {
        String name = "thread" + i;
        new Thread(() -> write(engine, store, name, first)).start();
      }
    }

    private static void write(Engine engine, Path store, String name, long first) {
      for (long number = first; ; number++) {
        String key = name + "-" + number % KEYS;
        byte[] value =
            ByteBuffer.allocate(VALUE_BYTES).putLong(number).put(logBytes(store)).array();
        try {
          engine.put(key.getBytes(StandardCharsets.UTF_8), value);
          System.out.println(key + " " + number + " .");
        } catch (OverloadedException e) {
          // A slow disk holds writes back. The write was not begun.
        }
      }
    }

    /** Returns the start of the newest log. */
    private static byte[] logBytes(Path store) {
      while (true) {
        try (Stream<Path> files = Files.list(store)) {
          Path log =
              files.filter(file -> file.toString().endsWith(".wal")).max(Path::compareTo).get();
          try (InputStream in = Files.newInputStream(log)) {
            return in.readNBytes(VALUE_BYTES - Long.BYTES);
          }
        } catch (IOException | UncheckedIOException e) {
          Thread.onSpinWait(); // the log was deleted meanwhile
        }
      }
    }
  }
}
