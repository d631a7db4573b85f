package lsmlab.storage.lsm;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.FileInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import lsmlab.storage.Engine;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.ReadOnlyException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A process runs out of file descriptors for a moment, during which a memtable is flushed. */
class DescriptorsTest {

  @TempDir Path directory;

  @Test
  void writesAreAcceptedAgainOnceThereAreDescriptors() throws Exception {
    Process process =
        new ProcessBuilder(
                "bash",
                "-c",
                "ulimit -n 256; exec \"$@\"",
                "bash",
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:-MaxFDLimit",
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                Writer.class.getName(),
                directory.toString())
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, process.waitFor(), output);
    List<String> lines = output.lines().toList();
    assertEquals("accepted", lines.getLast(), output);
    String refusal = lines.getFirst();
    assertEquals(
        "the store accepts no writes: java.nio.file.FileSystemException: FILE: Too many open files;"
            + " raise the limit of open files (ulimit -n)",
        refusal.replaceAll(directory + "/\\S+:", "FILE:"));
  }

  /** The separate process. */
  static final class Writer {

    private Writer() {}

    /** Arguments: a directory for the store. */
    public static void main(String[] arguments) throws Exception {
      loadClasses();
      Engine engine = LsmEngine.open(LsmOptions.of(Path.of(arguments[0])));
      engine.put(new byte[] {1}, new byte[10]);
      engine.flush(); // and creates the next log in advance
      List<FileInputStream> taken = new ArrayList<>();
      // A flush closes a log. If that comes first, the table gets its descriptors, so not every
      // flush is refused.
      boolean refused = false;
      while (!refused) {
        takeAll(taken);
        try {
          engine.put(new byte[] {2}, new byte[10]);
          engine.flush();
        } catch (ReadOnlyException e) {
          System.out.println(e.getMessage());
          refused = true;
        }
      }
      for (FileInputStream each : taken) {
        each.close();
      }
      try {
        engine.put(new byte[] {3}, new byte[10]);
        System.out.println("accepted");
      } catch (ReadOnlyException e) {
        System.out.println(e.getMessage());
      }
      Runtime.getRuntime().halt(0);
    }

    private static void takeAll(List<FileInputStream> taken) {
      try {
        while (true) {
          taken.add(new FileInputStream("/dev/null"));
        }
      } catch (IOException e) {
        // There are none left.
      }
    }

    /** Loads the classes of the engine, because that takes descriptors too. */
    private static void loadClasses() throws Exception {
      Path root =
          Path.of(LsmEngine.class.getProtectionDomain().getCodeSource().getLocation().toURI());
      try (Stream<Path> files = Files.walk(root)) {
        for (Path file : files.filter(each -> each.toString().endsWith(".class")).toList()) {
          String name = root.relativize(file).toString().replace('/', '.');
          Class.forName(name.substring(0, name.length() - ".class".length()));
        }
      }
    }
  }
}
