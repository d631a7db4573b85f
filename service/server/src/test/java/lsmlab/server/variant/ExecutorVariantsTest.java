package lsmlab.server.variant;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import lsmlab.server.http.Eventually;
import lsmlab.server.request.Rejection;
import lsmlab.server.variant.Probes.Blocker;
import lsmlab.server.variant.Probes.Probe;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Checks the variants that differ only in the queue of their ThreadPoolExecutor. */
class ExecutorVariantsTest {

  private static final int CAPACITY = 4;
  private static final long MINUTE = 60_000_000_000L;

  private static Variant start(String name) {
    return Probes.start(
        Variants.find(name).orElseThrow(), new VariantSettings(1, CAPACITY, MINUTE));
  }

  @ParameterizedTest
  @CsvSource({
    "executor, oldest",
    "executor-array, oldest",
    "executor-stack, newest",
    "executor-deque, oldest",
    "executor-ms-queue, oldest",
  })
  void requestsWaitUpToTheCapacityAndRunInTheVariantsOrder(String name, String first)
      throws InterruptedException {
    List<Integer> ran = new CopyOnWriteArrayList<>();
    List<Integer> refused = new ArrayList<>();
    try (Variant variant = start(name)) {
      Blocker blocker = new Blocker(0);
      variant.submit(blocker);
      blocker.started.await();
      for (int i = 1; i <= CAPACITY + 2; i++) {
        int number = i;
        Probe probe =
            new Probe(0) {
              @Override
              public void execute() {
                ran.add(number);
                super.execute();
              }
            };
        variant.submit(probe);
        if (probe.why == Rejection.QUEUE_FULL) {
          refused.add(number);
        }
      }
      assertEquals(CAPACITY, variant.queueDepth());
      assertEquals(CAPACITY, variant.queueCapacity());
      blocker.end.countDown();
    }
    assertEquals(List.of(5, 6), refused);
    if (first.equals("newest")) {
      Collections.reverse(ran);
    }
    assertEquals(List.of(1, 2, 3, 4), ran);
  }

  /** Profiles are compared by these frames. */
  @ParameterizedTest
  @CsvSource({
    "executor, LinkedBlockingQueue.take",
    "executor-array, ArrayBlockingQueue.take",
    "executor-stack, LinkedBlockingDeque.takeLast",
    "executor-deque, LinkedBlockingDeque.takeFirst",
    "executor-ms-queue, LinkedTransferQueue.take",
  })
  void anIdleWorkerWaitsForTheQueueInGetTask(String name, String frame) {
    AtomicReference<Thread> worker = new AtomicReference<>();
    Probe probe =
        new Probe(0) {
          @Override
          public void send() {
            worker.set(Thread.currentThread());
            super.send();
          }
        };
    try (Variant variant = start(name)) {
      variant.submit(probe);
      Eventually.equal(1, probe.sends::get, "is sent");
      List<String> expected =
          List.of(frame, "ThreadPoolExecutor.getTask", "ThreadPoolExecutor.runWorker");
      Eventually.equal(
          1,
          () -> waitingFrames(worker.get(), frame).equals(expected) ? 1 : 0,
          "waits in " + expected);
    }
  }

  /** Returns the pool's frames of a thread, and the given one, innermost first. */
  private static List<String> waitingFrames(Thread thread, String ofQueue) {
    return Stream.of(thread.getStackTrace())
        .map(frame -> frame.getClassName() + "." + frame.getMethodName())
        .map(name -> name.replace("java.util.concurrent.", ""))
        .filter(name -> name.equals(ofQueue) || name.startsWith("ThreadPoolExecutor."))
        .toList();
  }
}
