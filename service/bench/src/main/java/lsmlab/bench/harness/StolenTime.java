package lsmlab.bench.harness;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * What the host of a virtual machine took of its CPUs while they had something to run, by the kernel's account ({@code steal}
 * in proc_stat(5)), in ticks of 10 ms: too coarse for a pause, good for a second. 0 where there is no host, or where it
 * does not tell. Immutable.
 *
 * @param stolen ticks so far, of all CPUs that were asked for together
 * @param all ticks so far, idle ones too
 */
public record StolenTime(long stolen, long all) {

  private static final Path STAT = Path.of("/proc/stat");

  /** Columns behind the CPU's name: user, nice, system, idle, iowait, irq, softirq, steal; guests' are in the first two. */
  private static final int STEAL = 7;

  /** Reads it now, of all CPUs. */
  public static StolenTime now() throws IOException {
    return of(Files.readAllLines(STAT), Set.of("cpu"));
  }

  /**
   * Reads it now, of some CPUs.
   *
   * @param cpus their numbers
   * @throws IOException if there is no such CPU, or none that is in use
   */
  public static StolenTime now(Set<Integer> cpus) throws IOException {
    return of(
        Files.readAllLines(STAT),
        cpus.stream().map(cpu -> "cpu" + cpu).collect(Collectors.toSet()));
  }

  /** From the file's lines, of what has these names. */
  static StolenTime of(List<String> lines, Set<String> names) throws IOException {
    long stolen = 0;
    long all = 0;
    int found = 0;
    for (String line : lines) {
      String[] words = line.split(" +");
      if (!names.contains(words[0])) {
        continue;
      }
      if (words.length <= STEAL + 1) {
        throw new IOException(STAT + " does not say what the host took: " + line);
      }
      long[] ticks = Arrays.stream(words, 1, STEAL + 2).mapToLong(Long::parseLong).toArray();
      stolen += ticks[STEAL];
      all += Arrays.stream(ticks).sum();
      found++;
    }
    if (found < names.size()) {
      throw new IOException(STAT + " does not have all of " + names);
    }
    return new StolenTime(stolen, all);
  }

  /** Share of these CPUs' time that the host took since an earlier reading, 0 … 1. */
  public double shareSince(StolenTime earlier) {
    return all == earlier.all ? 0 : (double) (stolen - earlier.stolen) / (all - earlier.all);
  }
}
