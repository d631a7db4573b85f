package lsmlab.storage.file;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;

/** What Linux knows of the files that this process has mapped. */
public final class MappedFiles {

  private static final Path SMAPS = Path.of("/proc/self/smaps");

  private MappedFiles() {}

  /** Whether this system tells. */
  public static boolean areKnown() throws IOException {
    return Files.isReadable(SMAPS) && Files.readString(SMAPS).contains("VmFlags:");
  }

  /** The mapped files in a directory, each with whether the kernel reads its pages alone, without those around them. */
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
