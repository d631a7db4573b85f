package lsmlab.bench.report;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;

/**
 * The moments at which none of the CPUs could be had, as when a host stops a virtual machine. One thread a CPU is bound to it and
 * has a priority that no ordinary thread keeps waiting ({@code SCHED_FIFO}, sched(7)); it sleeps for two milliseconds at a
 * time and notes from when to when it was late. When they all were, either the host had stopped the machine, whatever the
 * kernel has charged to a thread, or the kernel itself kept every CPU at once: one that does not preempt itself
 * ({@code PREEMPT_NONE}) lets no thread in before a long system call is over, and such a call may be the engine's own. The
 * watch cannot tell the two apart; a profile by timer interrupts can. What stops one CPU alone is not counted.
 *
 * <p>Of a process of its own, so that collections and other stops of the measured JVM are none of these. Costs each CPU
 * about half a percent of its time. May be asked from any thread, while it watches and afterwards.
 */
public final class MachineStops implements AutoCloseable {

  /** From when to when a CPU did not run what it had to, by {@link System#nanoTime}. */
  record Late(long begin, long end) {}

  private static final long PERIOD_NANOS = 2_000_000;

  /** Less is what waking up takes. */
  private static final long LATE_NANOS = 1_000_000;

  private static final int PRIORITY = 1;

  private final List<Sentinel> sentinels = new ArrayList<>();
  private volatile boolean ended;

  private MachineStops() {}

  /** Begins to watch; nothing where the system permits no such priority. */
  public static Optional<MachineStops> watch() throws InterruptedException {
    return watch(Scheduling.cpus());
  }

  static Optional<MachineStops> watch(List<Integer> cpus) throws InterruptedException {
    MachineStops stops = new MachineStops();
    for (int cpu : cpus) {
      Sentinel sentinel = stops.new Sentinel(cpu);
      stops.sentinels.add(sentinel);
      sentinel.start();
    }
    boolean permitted = !stops.sentinels.isEmpty();
    for (Sentinel sentinel : stops.sentinels) {
      permitted &= sentinel.isReady();
    }
    if (!permitted) {
      stops.close();
      return Optional.empty();
    }
    return Optional.of(stops);
  }

  /** For how long no CPU could be had between two moments by {@link System#nanoTime}, in milliseconds. */
  public double millisWithin(long begin, long end) {
    return millisWithin(
        sentinels.stream().map(sentinel -> List.copyOf(sentinel.late)).toList(), begin, end);
  }

  /**
   * How much of an interval all of several lists have in common.
   *
   * @param byCpu of each CPU when it was late, in order, without overlap
   */
  static double millisWithin(List<List<Late>> byCpu, long begin, long end) {
    List<Late> common = List.of(new Late(begin, end));
    for (List<Late> cpu : byCpu) {
      List<Late> both = new ArrayList<>();
      for (Late one : common) {
        for (Late other : cpu) {
          if (other.begin - one.end < 0 && one.begin - other.end < 0) {
            both.add(
                new Late(
                    other.begin - one.begin > 0 ? other.begin : one.begin,
                    other.end - one.end < 0 ? other.end : one.end));
          }
        }
      }
      common = both;
    }
    return common.stream().mapToLong(stop -> stop.end - stop.begin).sum() / 1e6;
  }

  @Override
  public void close() {
    ended = true;
  }

  private final class Sentinel extends Thread {

    private final int cpu;
    private final Queue<Late> late = new ConcurrentLinkedQueue<>();
    private Boolean permitted;

    Sentinel(int cpu) {
      super("machine-stops-" + cpu);
      this.cpu = cpu;
      setDaemon(true);
    }

    synchronized boolean isReady() throws InterruptedException {
      while (permitted == null) {
        wait();
      }
      return permitted;
    }

    private synchronized void tell(boolean isPermitted) {
      permitted = isPermitted;
      notifyAll();
    }

    @Override
    public void run() {
      boolean isPermitted = Scheduling.bindTo(cpu) && Scheduling.makeRealTime(PRIORITY);
      tell(isPermitted);
      if (!isPermitted) {
        return;
      }
      long due = System.nanoTime() + PERIOD_NANOS;
      while (!ended) {
        long now = System.nanoTime();
        if (now - due < 0) {
          LockSupport.parkNanos(due - now);
          continue;
        }
        if (now - due > LATE_NANOS) {
          late.add(new Late(due, now));
        }
        due = now + PERIOD_NANOS;
      }
    }
  }
}
