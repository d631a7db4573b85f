package lsmlab.storage.file;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;

/** Reads what Linux reports about the mapped files of this process. */
public final class MappedFiles {

  private static final Path SMAPS = Path.of("/proc/self/smaps");

  private MappedFiles() {}

  /** Whether this system reports mapped files. */
  public static boolean areKnown() throws IOException {
    return Files.isReadable(SMAPS) && Files.readString(SMAPS).contains("VmFlags:");
  }

  /**
   * Returns the mapped files of a directory, each with whether the kernel reads a missing page
   * without the pages around it.
   */
  public static Map<Path, Boolean> readAtRandom(Path directory) throws IOException {
    Map<Path, Boolean> found = new TreeMap<>();
    String prefix = directory.toRealPath() + "/";
    String name = null;
    for (String line : Files.readAllLines(SMAPS)) {
      if (line.matches("[0-9a-f]+-[0-9a-f]+ .*")) {
        int at = line.indexOf(prefix);
        name = at < 0 ? null : line.substring(at);
      } else if (name != null && line.startsWith("VmFlags:")) {
        found.put(Path.of(name), Arrays.asList(line.split(" ")).contains("rr"));
      }
    }
    return found;
  }
}
