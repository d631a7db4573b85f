package lsmlab.bench.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import lsmlab.bench.report.MachineStops.Late;
import lsmlab.bench.workload.Outcome;
import org.junit.jupiter.api.Test;

class MachineStopsTest {

  private static final int NO_SUCH_CPU = 1023;
  private static final long SPIN_NANOS = 60_000_000;

  @Test
  void onlyWhatAllCpusHaveInCommonCounts() {
    List<Late> first = List.of(new Late(0, 10_000_000), new Late(20_000_000, 50_000_000));
    List<Late> second = List.of(new Late(5_000_000, 25_000_000), new Late(49_000_000, 60_000_000));
    assertEquals(5 + 5 + 1, MachineStops.millisWithin(List.of(first, second), 0, 100_000_000));
    assertEquals(2, MachineStops.millisWithin(List.of(first, second), 8_000_000, 20_000_000));
    assertEquals(0, MachineStops.millisWithin(List.of(first, List.of()), 0, 100_000_000));
    assertEquals(40, MachineStops.millisWithin(List.of(first), 0, 100_000_000));
  }

  @Test
  void theClockMayPassItsLargestNumber() {
    List<Late> late = List.of(new Late(Long.MAX_VALUE - 1_000_000, Long.MIN_VALUE + 1_999_999));
    assertEquals(
        2,
        MachineStops.millisWithin(
            List.of(late), Long.MAX_VALUE - 5_000_000, Long.MIN_VALUE + 999_999));
  }

  /** A host cannot be made to stop; threads that come before the watch's keep every CPU from it alike. */
  @Test
  void whatKeepsEveryCpuBusyBeforeTheWatchIsAStop() throws Exception {
    try (MachineStops stops = watch()) {
      long begin = System.nanoTime();
      spinOnAllCpus(2);
      long end = System.nanoTime();
      double stopped = stops.millisWithin(begin, end);
      assertTrue(
          stopped > SPIN_NANOS / 2e6 && stopped <= (end - begin) / 1e6,
          () -> stopped + " of " + (end - begin) / 1e6 + " ms");
      double before = stops.millisWithin(begin - 1_000_000_000, begin - 900_000_000);
      assertEquals(0, before, "not watched yet");
    }
  }

  @Test
  void ordinaryThreadsKeepNoCpuFromTheWatch() throws Exception {
    try (MachineStops stops = watch()) {
      long begin = System.nanoTime();
      spinOnAllCpus(0);
      double stopped = stops.millisWithin(begin, System.nanoTime());
      assertTrue(stopped < SPIN_NANOS / 2e6, () -> stopped + " ms");
    }
  }

  @Test
  void anOutcomeIsToldTheLongestWithoutStops() throws Exception {
    try (MachineStops stops = watch()) {
      long begin = System.nanoTime();
      spinOnAllCpus(2);
      double millis = (System.nanoTime() - begin) / 1e6;
      Stall stopped = new Stall(0, begin, millis, null, null);
      Stall undisturbed = new Stall(0, begin - 1_000_000_000, 2, null, null);
      Outcome outcome = new Outcome(Map.of(), List.of(stopped, undisturbed)).beside(stops);
      assertTrue(
          outcome.figures().get("overwrite_stall_running_max") < millis - SPIN_NANOS / 2e6,
          outcome.toString());
      assertEquals(0, outcome.stalls().getLast().stoppedMillis());
    }
  }

  /** As where real-time priorities are refused; a CPU that no machine of ours has is refused everywhere. */
  @Test
  void whereTheSystemRefusesNobodyWatches() throws Exception {
    assertTrue(MachineStops.watch(List.of(0, NO_SUCH_CPU)).isEmpty());
    assertTrue(MachineStops.watch(List.of()).isEmpty(), "the CPUs are not told");
  }

  private static MachineStops watch() throws InterruptedException {
    var stops = MachineStops.watch();
    assumeTrue(stops.isPresent(), "real-time priorities are not permitted here");
    return stops.get();
  }

  /** Priority 0 is an ordinary thread's. */
  private static void spinOnAllCpus(int priority) throws Exception {
    List<Callable<Boolean>> spinners = new ArrayList<>();
    AtomicInteger running = new AtomicInteger();
    for (int cpu : Scheduling.cpus()) {
      spinners.add(
          () -> {
            boolean ready =
                Scheduling.bindTo(cpu) && (priority == 0 || Scheduling.makeRealTime(priority));
            running.incrementAndGet();
            while (running.get() < spinners.size()) {
              Thread.onSpinWait();
            }
            long end = System.nanoTime() + SPIN_NANOS;
            while (System.nanoTime() - end < 0) {
              Thread.onSpinWait();
            }
            return ready;
          });
    }
    try (ExecutorService threads = Executors.newFixedThreadPool(spinners.size())) {
      for (Future<Boolean> spinner : threads.invokeAll(spinners)) {
        assertTrue(spinner.get());
      }
    }
  }
}
