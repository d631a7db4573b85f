package lsmlab.storage.lsm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import lsmlab.storage.Engine;
import lsmlab.storage.LsmOptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Error messages for stores without write permission or with a missing file. Runs in a separate process, from which
 * setpriv(1) removes root's right to ignore permissions.
 */
class PermissionTest {

  private static final Path SETPRIV = Path.of("/usr/bin/setpriv");

  @TempDir Path directory;

  private static List<String> open(Path... stores) throws Exception {
    List<String> command = new ArrayList<>();
    if (System.getProperty("user.name").equals("root")) {
      assumeTrue(Files.isExecutable(SETPRIV), SETPRIV + " is missing: apt install util-linux");
      command.add(SETPRIV.toString());
      command.add("--bounding-set=-dac_override,-dac_read_search");
      command.add("--inh-caps=-dac_override,-dac_read_search");
    }
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("--enable-native-access=ALL-UNNAMED", "-cp"));
    command.add(System.getProperty("java.class.path"));
    command.add(Opener.class.getName());
    for (Path store : stores) {
      command.add(store.toString());
    }
    Process process =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, process.waitFor(), output);
    return output.lines().toList();
  }

  private static void permit(Path path, String permissions) throws Exception {
    Files.setPosixFilePermissions(path, PosixFilePermissions.fromString(permissions));
  }

  @Test
  void theErrorNamesTheFileTheReasonAndWhatToDo() throws Exception {
    Path unwritable = Files.createDirectory(directory.resolve("unwritable"));
    Path inside = unwritable.resolve("store");
    Path withManifest = directory.resolve("with-manifest");
    LsmEngine.open(LsmOptions.of(withManifest)).close();
    permit(unwritable, "r-xr-xr-x");
    permit(withManifest.resolve("MANIFEST"), "r--r--r--");
    try {
      List<String> messages = open(unwritable, inside, withManifest);
      String advice =
          ": permission denied: make the directory writable for the user who runs the service";
      assertEquals(
          List.of(
              "cannot open the store " + unwritable + ": " + unwritable.resolve("LOCK") + advice,
              "cannot open the store " + inside + ": " + inside + advice,
              "cannot open the store "
                  + withManifest
                  + ": "
                  + withManifest.resolve("MANIFEST")
                  + ": permission denied: make it readable and writable for the user who runs the"
                  + " service"),
          messages);
    } finally {
      permit(unwritable, "rwxr-xr-x");
    }
  }

  /** A name without a file, as a link to a dataset that was deleted. */
  @Test
  void theErrorSaysThatATablesFileIsGone() throws Exception {
    Path store = directory.resolve("store");
    try (Engine engine = LsmEngine.open(LsmOptions.of(store))) {
      engine.put(new byte[] {1}, new byte[1]);
      engine.flush();
    }
    Path table;
    try (Stream<Path> files = Files.list(store)) {
      table = files.filter(file -> file.toString().endsWith(".sst")).findFirst().orElseThrow();
    }
    Files.delete(table);
    Files.createSymbolicLink(table, directory.resolve("gone"));
    assertEquals(
        List.of(
            "cannot open the store "
                + store
                + ": "
                + table
                + ": no such file: restore it, or the whole store, from a copy"),
        open(store));
  }

  /** The separate process. */
  static final class Opener {

    private Opener() {}

    /** Arguments: stores to open. */
    public static void main(String[] arguments) {
      for (String store : arguments) {
        try (Engine engine = LsmEngine.open(LsmOptions.of(Path.of(store)))) {
          System.out.println("opened with " + engine.stats().tables() + " tables");
        } catch (UncheckedIOException e) {
          System.out.println(e.getMessage());
        }
      }
    }
  }
}
