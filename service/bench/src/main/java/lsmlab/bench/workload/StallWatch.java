package lsmlab.bench.workload;

import java.io.IOException;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.stream.Stream;
import lsmlab.bench.report.Stall;

/**
 * Keeps a thread's longest operations and what each consists of. The thread's {@link ThreadAccount} is read about once a
 * millisecond and after each operation of more than a tenth of one, so that between the last reading before a stall and its
 * beginning there is next to nothing but short operations: that much is taken for time on the CPU. It costs some 0.3% of the
 * thread's time, whatever the engine. Of one thread: it makes, uses and closes it.
 */
final class StallWatch implements AutoCloseable {

  /** Stalls that are kept. */
  static final int KEPT = 100;

  private static final long STALL_NANOS = 3_000_000;
  private static final long READING_INTERVAL_NANOS = 1_000_000;
  private static final long LONG_NANOS = 100_000;
  private static final Comparator<Stall> SHORTER = Comparator.comparingDouble(Stall::millis);

  private final long start;
  private final ThreadAccount account;
  private final PriorityQueue<Stall> longest = new PriorityQueue<>(SHORTER);

  private long readAt;
  private long cpuNanos;
  private long waitedNanos;
  private long sleeps;
  private long preemptions;
  private long faults;

  /**
   * @param start of the interval, by {@link System#nanoTime}
   */
  StallWatch(long start) throws IOException {
    this.start = start;
    account = ThreadAccount.open().orElse(null);
    if (account != null) {
      account.read();
      note(System.nanoTime());
    }
  }

  /** An operation is over. What the watch itself takes is to count for the next one, so that no stall is missed. */
  void finished(long begin, long end) throws IOException {
    long nanos = end - begin;
    if (account == null) {
      if (nanos > STALL_NANOS) {
        keep(stall(begin, nanos, null));
      }
      return;
    }
    if (end - readAt < READING_INTERVAL_NANOS && nanos < LONG_NANOS) {
      return;
    }
    account.read();
    if (nanos > STALL_NANOS) {
      keep(stall(begin, nanos, split(begin, end)));
    }
    note(System.nanoTime());
  }

  private Stall stall(long begin, long nanos, Stall.Split split) {
    return new Stall((begin - start) / 1e9, begin, nanos / 1e6, null, split);
  }

  private Stall.Split split(long begin, long end) {
    long nanos = end - begin;
    long before = Math.max(0, begin - readAt);
    long cpu = Math.clamp(account.cpuNanos() - cpuNanos - before, 0, nanos);
    long waiting = Math.clamp(account.waitedNanos() - waitedNanos, 0, nanos - cpu);
    long rest = nanos - cpu - waiting;
    long slept = account.sleeps() - sleeps;
    return new Stall.Split(
        cpu / 1e6,
        waiting / 1e6,
        slept > 0 ? rest / 1e6 : 0,
        slept > 0 ? 0 : rest / 1e6,
        slept,
        account.preemptions() - preemptions,
        account.faults() - faults);
  }

  private void note(long now) {
    readAt = now;
    cpuNanos = account.cpuNanos();
    waitedNanos = account.waitedNanos();
    sleeps = account.sleeps();
    preemptions = account.preemptions();
    faults = account.faults();
  }

  private void keep(Stall stall) {
    longest.add(stall);
    if (longest.size() > KEPT) {
      longest.poll();
    }
  }

  /** The longest, longest first. */
  List<Stall> longest() {
    return longestOf(longest.stream());
  }

  /** The longest of several threads', longest first. */
  static List<Stall> longestOf(Stream<Stall> stalls) {
    return stalls.sorted(SHORTER.reversed()).limit(KEPT).toList();
  }

  @Override
  public void close() throws IOException {
    if (account != null) {
      account.close();
    }
  }
}
