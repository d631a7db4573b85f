package lsmlab.storage.lsm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import lsmlab.storage.CompactionStrategy;
import lsmlab.storage.Compression;
import lsmlab.storage.CorruptionException;
import lsmlab.storage.Engine;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.Scan;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Cuts tables short while they are mapped and read. An access beyond the end of a file raises
 * SIGBUS, as it does if the device cannot read a page. Each result must be right or an error, and
 * the JVM must survive. The reads run in a separate process, because a failure can kill it.
 *
 * <p>Two errors are allowed, and the server answers both with 500. Usually the engine translates
 * the JVM's {@link InternalError} into a {@link CorruptionException}. A <i>late</i> error is an
 * {@link InternalError} that reaches the caller. Compiled code throws it only at the next safepoint
 * poll after the load, which can be outside the block that translates it. Interpreted code and
 * copies of memory throw it at once, so it is always translated there.
 */
class MappedDamageTest {

  private static final int PAIRS = 4_000;
  private static final int KEPT_BYTES = 64 * 1024;
  private static final int WARM_UP_ROUNDS = 25;

  @TempDir Path directory;

  @ParameterizedTest
  @CsvSource({"cold, NONE", "warm, NONE", "cold, LZ4", "warm, LZ4"})
  void aTableThatIsTruncatedWhileItIsReadDoesNotKillTheProcess(String when, Compression compression)
      throws Exception {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-ea", "-XX:-CreateCoredumpOnCrash", "-XX:ErrorFile=/dev/null", "-cp"));
    command.add(System.getProperty("java.class.path"));
    command.addAll(List.of(Reader.class.getName(), directory.resolve("store").toString(), when));
    command.add(compression.name());
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, process.waitFor(), output);
    assertTrue(output.contains("wrong 0 other 0 "), output);
    assertTrue(when.equals("warm") || output.contains("late 0"), "not translated: " + output);
    assertTrue(output.matches("(?s).*refused [1-9]\\d* .*"), "the cut was never met: " + output);
    assertTrue(output.matches("(?s).*right [1-9]\\d* .*"), "nothing was left: " + output);
  }

  /** The separate process. */
  static final class Reader {
    /**
     * Text that compresses little, so that even compressed tables are longer than the kept part of
     * the file.
     */
    private static final String PADDING =
        new SplittableRandom(1)
            .ints(600, 'a', 'q')
            .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append)
            .toString();

    private int right;
    private int refused;
    private int wrong;
    private int other;
    private int late;
    private final Engine engine;

    private Reader(Engine engine) {
      this.engine = engine;
    }

    private static byte[] key(int i) {
      return "key%06d".formatted(i).getBytes(StandardCharsets.UTF_8);
    }

    private static byte[] value(int i) {
      return (i + PADDING.substring(i % 200, i % 200 + 300 + i % 50))
          .getBytes(StandardCharsets.UTF_8);
    }

    private void getAll() {
      for (int i = 0; i < PAIRS; i++) {
        try {
          boolean same = java.util.Arrays.equals(value(i), engine.get(key(i)));
          right += same ? 1 : 0;
          wrong += same ? 0 : 1;
        } catch (CorruptionException e) {
          refused++;
        } catch (InternalError e) {
          late++;
        } catch (Throwable e) {
          other++;
          System.out.println("get " + i + ": " + e);
        }
      }
    }

    private void scanAll() {
      int i = 0;
      try (Scan scan = engine.scan(new byte[0], null)) {
        for (; scan.next(); i++) {
          byte[] key = scan.key().toArray(java.lang.foreign.ValueLayout.JAVA_BYTE);
          byte[] value = scan.value().toArray(java.lang.foreign.ValueLayout.JAVA_BYTE);
          boolean same =
              java.util.Arrays.equals(key(i), key) && java.util.Arrays.equals(value(i), value);
          right += same ? 1 : 0;
          wrong += same ? 0 : 1;
        }
        wrong += i == PAIRS ? 0 : 1;
      } catch (CorruptionException e) {
        refused++;
      } catch (InternalError e) {
        late++;
      } catch (Throwable e) {
        other++;
        System.out.println("scan at " + i + ": " + e);
      }
    }

    /**
     * Arguments: the store; {@code warm} to read everything often before the cut, so that the
     * reading code is compiled, or {@code cold}; the compression.
     */
    public static void main(String[] arguments) throws IOException {
      Path store = Path.of(arguments[0]);
      LsmOptions options =
          LsmOptions.builder(store)
              .compaction(CompactionStrategy.OFF)
              .compression(Compression.valueOf(arguments[2]))
              .build();
      try (Engine engine = LsmEngine.open(options)) {
        for (int i = 0; i < PAIRS; i++) {
          engine.put(key(i), value(i));
        }
        engine.flush();
        Reader reader = new Reader(engine);
        for (int i = 0; i < WARM_UP_ROUNDS && arguments[1].equals("warm"); i++) {
          reader.getAll();
          reader.scanAll();
        }
        if (reader.refused + reader.wrong + reader.other + reader.late > 0) {
          throw new IllegalStateException("before anything is cut");
        }
        reader.right = 0;
        try (Stream<Path> files = Files.list(store)) {
          for (Path file : files.filter(each -> each.toString().endsWith(".sst")).toList()) {
            try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
              channel.truncate(KEPT_BYTES);
            }
          }
        }
        for (int i = 0; i < 3; i++) {
          reader.getAll();
          reader.scanAll();
        }
        System.out.printf(
            "right %d refused %d wrong %d other %d late %d%n",
            reader.right, reader.refused, reader.wrong, reader.other, reader.late);
      }
    }
  }
}
