package lsmlab.storage.lsm;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import lsmlab.storage.Engine;
import lsmlab.storage.LsmOptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Large values with a small heap, in a separate process: an accepted value can be flushed, a larger
 * one is refused.
 */
class SmallHeapTest {

  private static final int HEAP_MIB = 256;

  @TempDir Path directory;

  @Test
  void theLargestAcceptedValueCanBeFlushedAndALargerOneIsRefused() throws Exception {
    List<String> command =
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-ea",
            "-Xmx" + HEAP_MIB + "m",
            "--enable-native-access=ALL-UNNAMED",
            "-cp",
            System.getProperty("java.class.path"),
            Writer.class.getName(),
            directory.resolve("store").toString());
    Process process =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, process.waitFor(), output);
    int most = HEAP_MIB / 8 << 20;
    assertEquals(
        """
        flushed
        the value has %2$d bytes, but with this heap at most %1$d bytes are allowed: a larger heap (-Xmx) allows larger values
        read %1$d bytes
        """
            .formatted(most, most + 1),
        output);
  }

  /** The separate process. */
  static final class Writer {

    private Writer() {}

    /** Argument: the store. */
    public static void main(String[] arguments) throws IOException {
      LsmOptions options = LsmOptions.of(Path.of(arguments[0]));
      byte[] key = {1};
      try (Engine engine = LsmEngine.open(options)) {
        engine.put(key, new byte[options.valueBytesMax()]);
        engine.flush();
        System.out.println("flushed");
        try {
          engine.put(key, new byte[options.valueBytesMax() + 1]);
        } catch (IllegalArgumentException e) {
          System.out.println(e.getMessage());
        }
        engine.flush();
        System.out.println("read " + engine.get(key).length + " bytes");
      }
    }
  }
}
