package lsmlab.bench.report;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * What the host of a virtual machine took of its CPUs while they had something to run, by the kernel's account ({@code steal}
 * in proc_stat(5)), in ticks of 10 ms: too coarse for a pause, good for a second. 0 where there is no host, or where it
 * does not tell. Immutable.
 *
 * @param stolen ticks of all CPUs so far
 * @param all ticks of all CPUs so far, idle ones too
 */
public record StolenTime(long stolen, long all) {

  private static final Path STAT = Path.of("/proc/stat");

  /** Columns behind "cpu": user, nice, system, idle, iowait, irq, softirq, steal; what follows is in user and nice too. */
  private static final int STEAL = 7;

  /** Reads it now. */
  public static StolenTime now() throws IOException {
    try (var lines = Files.lines(STAT)) {
      return of(lines.findFirst().orElseThrow(() -> new IOException(STAT + " is empty")));
    }
  }

  /** From the file's first line. */
  static StolenTime of(String line) throws IOException {
    String[] words = line.split(" +");
    if (!words[0].equals("cpu") || words.length <= STEAL + 1) {
      throw new IOException(STAT + " does not begin with what all CPUs did: " + line);
    }
    long[] ticks = Arrays.stream(words, 1, STEAL + 2).mapToLong(Long::parseLong).toArray();
    return new StolenTime(ticks[STEAL], Arrays.stream(ticks).sum());
  }

  /** Share of the CPUs' time that the host took since an earlier reading, 0 … 1. */
  public double shareSince(StolenTime earlier) {
    return all == earlier.all ? 0 : (double) (stolen - earlier.stolen) / (all - earlier.all);
  }
}
