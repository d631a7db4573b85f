package lsmlab.bench.workload;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** What the kernel counts of this process's input and output (Linux: proc(5), {@code /proc/pid/io}). */
final class ProcessIo {

  private static final Path COUNTERS = Path.of("/proc/self/io");
  private static final String WRITTEN = "wchar: ";

  private ProcessIo() {}

  /** Bytes this process has passed to write calls so far. */
  static long writtenBytes() throws IOException {
    for (String line : Files.readAllLines(COUNTERS)) {
      if (line.startsWith(WRITTEN)) {
        return Long.parseLong(line.substring(WRITTEN.length()));
      }
    }
    throw new IOException(COUNTERS + " has no line '" + WRITTEN + "'");
  }
}
