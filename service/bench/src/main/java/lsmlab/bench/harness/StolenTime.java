package lsmlab.bench.harness;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * CPU time that the host of a virtual machine took while the machine had something to run: the kernel's {@code steal} in
 * proc_stat(5). Ticks are of 10 ms, too coarse for a pause and fine enough for a second. The value is 0 on a physical
 * machine and under a host that does not report it. Immutable.
 *
 * @param stolen stolen ticks since boot, summed over the CPUs
 * @param all all ticks since boot, idle ones included, summed over the CPUs
 */
public record StolenTime(long stolen, long all) {

  private static final Path STAT = Path.of("/proc/stat");

  /** Index of steal after the CPU's name: user, nice, system, idle, iowait, irq, softirq, steal. Guests count in user, nice. */
  private static final int STEAL = 7;

  /** Reads the current values, summed over all CPUs. */
  public static StolenTime now() throws IOException {
    return of(Files.readAllLines(STAT), Set.of("cpu"));
  }

  /**
   * Reads the current values, summed over some CPUs.
   *
   * @param cpus numbers of the CPUs
   * @throws IOException if one of the CPUs does not exist or is offline
   */
  public static StolenTime now(Set<Integer> cpus) throws IOException {
    return of(
        Files.readAllLines(STAT),
        cpus.stream().map(cpu -> "cpu" + cpu).collect(Collectors.toSet()));
  }

  /** Sums the lines of /proc/stat that begin with these names. */
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

  /** Returns the share of the CPUs' time that the host took since an earlier reading, 0 … 1. */
  public double shareSince(StolenTime earlier) {
    return all == earlier.all ? 0 : (double) (stolen - earlier.stolen) / (all - earlier.all);
  }
}
