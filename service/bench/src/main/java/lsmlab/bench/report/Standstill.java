package lsmlab.bench.report;

import java.time.Duration;
import java.util.stream.IntStream;

/**
 * How long the machine stops threads that do nothing but read the clock, one for each CPU. On a virtual machine whose host
 * has others to serve, or a quota to keep, that can be many milliseconds: a stall as long as that need not be an engine's doing.
 * Other threads that take a CPU count too, and a short watch misses what is rare. The idea is that of hiccup meters, with
 * all CPUs busy, as they are in a benchmark.
 */
public final class Standstill {

  private Standstill() {}

  /** Keeps all CPUs busy for that long and returns the longest time between two readings of the clock, in milliseconds. */
  public static double longestMillis(Duration length) {
    long end = System.nanoTime() + length.toNanos();
    long nanos =
        IntStream.range(0, Runtime.getRuntime().availableProcessors())
            .mapToObj(cpu -> new Watch(end))
            .toList()
            .stream()
            .mapToLong(Watch::longest)
            .max()
            .orElse(0);
    return nanos / 1e6;
  }

  /** A thread that watches the clock until a moment. */
  private static final class Watch extends Thread {

    private final long end;
    private long longest;

    Watch(long end) {
      super("standstill");
      this.end = end;
      setDaemon(true);
      start();
    }

    @Override
    public void run() {
      long last = System.nanoTime();
      while (last - end < 0) {
        long now = System.nanoTime();
        longest = Math.max(longest, now - last);
        last = now;
      }
    }

    /** Nanoseconds, once the watch has ended. */
    long longest() {
      boolean interrupted = false;
      while (true) {
        try {
          join();
          break;
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
      return longest;
    }
  }
}
