package lsmlab.bench.workload;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import lsmlab.bench.report.Scheduling;
import lsmlab.bench.report.Stall;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

/** Each kind of stall is made on purpose. The bounds are loose: other processes and the host take their part. */
@EnabledOnOs(OS.LINUX)
class StallWatchTest {

  @Test
  void aBusyLoopIsOnTheCpu() throws Exception {
    Stall.Split split = watched(() -> spinUntilCpuTime(100_000_000L)).split();
    assertTrue(split.onCpu() > 90, split.toString());
    assertEquals(0, split.asleep(), 20, split.toString());
  }

  @Test
  void aPauseIsSleep() throws Exception {
    Stall stall =
        watched(
            () -> {
              Thread.sleep(100);
              return null;
            });
    Stall.Split split = stall.split();
    assertTrue(split.asleep() > 90, stall.toString());
    assertTrue(split.sleeps() > 0, stall.toString());
    assertEquals(0, split.stolen(), stall.toString());
    assertTrue(split.onCpu() < 10, stall.toString());
  }

  /** Two busy threads on one CPU: each waits about half of the time, and sleeps hardly at all. */
  @Test
  void aCompetitorOnTheSameCpuMakesItWait() throws Exception {
    try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
      Stall stall =
          threads
              .submit(
                  () -> {
                    pinToOneCpu();
                    var competitor =
                        threads.submit(
                            () -> {
                              pinToOneCpu();
                              return spinUntilCpuTime(300_000_000L);
                            });
                    Stall watched = watchedHere(() -> spinUntilCpuTime(200_000_000L));
                    competitor.get();
                    return watched;
                  })
              .get();
      assertTrue(stall.split().waiting() > 50, stall.toString());
      assertTrue(stall.split().preemptions() > 0, stall.toString());
      assertEquals(0, stall.split().asleep(), 20, stall.toString());
      assertTrue(stall.split().onCpu() > 150, stall.toString());
    }
  }

  @Test
  void thePartsMakeUpTheStall() throws Exception {
    Stall stall =
        watched(
            () -> {
              spinUntilCpuTime(20_000_000L);
              Thread.sleep(20);
              return spinUntilCpuTime(20_000_000L);
            });
    Stall.Split split = stall.split();
    double sum = split.onCpu() + split.waiting() + split.asleep() + split.stolen();
    assertEquals(stall.millis(), sum, 1e-6);
    assertTrue(split.onCpu() > 36 && split.asleep() > 18, stall.toString());
  }

  @Test
  void theLongestAreKeptLongestFirstAndShortOnesAreNone() throws Exception {
    List<Stall> kept;
    try (StallWatch watch = new StallWatch(0)) {
      for (int i = 1; i <= 120; i++) {
        watch.finished(i * 1_000_000_000L, i * 1_000_000_000L + i * 1_000_000L);
      }
      kept = watch.longest();
    }
    assertEquals(StallWatch.KEPT, kept.size());
    assertEquals(120, kept.getFirst().millis());
    assertEquals(120, kept.getFirst().atSeconds());
    assertEquals(120_000_000_000L, kept.getFirst().clockNanos());
    assertEquals(21, kept.getLast().millis());
    try (StallWatch watch = new StallWatch(0)) {
      watch.finished(0, 2_900_000);
      assertEquals(List.of(), watch.longest());
    }
  }

  /** Of a thread of its own: the watch's. */
  private static Stall watched(Callable<Long> operation) throws Exception {
    try (ExecutorService thread = Executors.newSingleThreadExecutor()) {
      return thread.submit(() -> watchedHere(operation)).get();
    }
  }

  private static Stall watchedHere(Callable<Long> operation) throws Exception {
    try (StallWatch watch = new StallWatch(System.nanoTime())) {
      long begin = System.nanoTime();
      operation.call();
      watch.finished(begin, System.nanoTime());
      Stall stall = watch.longest().getFirst();
      assertNotNull(stall.split());
      return stall;
    }
  }

  /** So much CPU time of the calling thread's. */
  private static long spinUntilCpuTime(long nanos) throws IOException {
    try (ThreadAccount account = ThreadAccount.open().orElseThrow()) {
      account.read();
      long end = account.cpuNanos() + nanos;
      while (account.cpuNanos() < end) {
        account.read();
      }
      return account.cpuNanos();
    }
  }

  private static void pinToOneCpu() {
    assertTrue(Scheduling.bindTo(Scheduling.cpus().getFirst()));
  }
}
