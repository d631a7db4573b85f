package lsmlab.server.variant;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import lsmlab.server.http.Eventually;
import lsmlab.server.http.TestServer;
import lsmlab.server.request.Rejection;
import lsmlab.server.variant.Probes.Blocker;
import lsmlab.server.variant.Probes.Probe;
import lsmlab.server.variant.queue.IdleStrategy;
import lsmlab.server.variant.queue.QueuePolicy;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** The contract of {@link Variant}, for every registered variant, without HTTP or storage. */
class VariantsTest {

  private static final long MINUTE = TimeUnit.MINUTES.toNanos(1);

  static Stream<Variants.Entry> all() {
    return Variants.all().stream();
  }

  static Stream<Variants.Entry> pooled() {
    return all().filter(entry -> !List.of("sync", "per-core").contains(entry.name()));
  }

  static Stream<Arguments> thatIdleOtherwise() {
    return all()
        .flatMap(
            entry ->
                entry.idles().stream()
                    .filter(idle -> idle != IdleStrategy.PARK)
                    .map(idle -> Arguments.of(entry, idle)));
  }

  private static Variant start(Variants.Entry entry, int workers, int capacity) {
    return Probes.start(entry, new VariantSettings(workers, capacity, MINUTE));
  }

  /** Waits until a worker waits, which variants that hand over need; for others it makes no difference. */
  private static void awaitWaitingWorkers() {
    Eventually.equal(0, TestServer::busyWorkers, "workers that do not wait for work");
  }

  /** Submits requests until the variant runs one of them; returns that one. */
  private static Probe runOne(Variant variant, int hash) {
    long deadline = System.nanoTime() + MINUTE;
    while (System.nanoTime() < deadline) {
      Probe probe = new Probe(hash);
      variant.submit(probe);
      Eventually.equal(1, () -> probe.sends.get() + probe.rejections.get(), "ends");
      if (probe.runs.get() == 1) {
        return probe;
      }
      Thread.yield();
    }
    throw new AssertionError("nothing is run");
  }

  @ParameterizedTest
  @MethodSource("all")
  void runsOrRejectsEachRequestOnce(Variants.Entry entry) throws InterruptedException {
    Variant variant = start(entry, 3, 64);
    runOne(variant, 0);
    List<Probe> probes = new ArrayList<>();
    List<Thread> producers = new ArrayList<>();
    for (int p = 0; p < 3; p++) {
      List<Probe> own = new ArrayList<>();
      for (int i = 0; i < 20_000; i++) {
        own.add(new Probe(31 * p + i));
      }
      probes.addAll(own);
      producers.add(Thread.ofPlatform().start(() -> own.forEach(variant::submit)));
    }
    for (Thread producer : producers) {
      producer.join();
    }
    variant.close();
    for (Probe probe : probes) {
      assertEquals(1, probe.runs.get() + probe.rejections.get());
      assertEquals(probe.runs.get(), probe.sends.get());
    }
    assertEquals(0, variant.queueDepth());
  }

  @ParameterizedTest
  @MethodSource("pooled")
  void threadsAreNamedWorker(Variants.Entry entry) {
    Set<String> names = ConcurrentHashMap.newKeySet();
    Variant variant = start(entry, 2, 64);
    for (int i = 0; i < 200; i++) {
      awaitWaitingWorkers();
      Probe probe = runOne(variant, i);
      if (!probe.virtual) {
        names.add(probe.thread);
      }
    }
    variant.close();
    assertEquals(entry.name().equals("virtual-threads"), names.isEmpty());
    String pattern = entry.name().equals("one-nio-workers") ? "NIO Worker #\\d+" : "worker-\\d+";
    for (String name : names) {
      assertTrue(name.matches(pattern), name);
    }
  }

  @ParameterizedTest
  @MethodSource("pooled")
  void submitNeverWaitsAndWaitingRequestsAreBoundedAndRunAtTheEnd(Variants.Entry entry)
      throws InterruptedException {
    int capacity = 16;
    Variant variant = start(entry, 1, capacity);
    Blocker blocker = new Blocker(0);
    awaitWaitingWorkers();
    variant.submit(blocker);
    blocker.started.await();
    List<Probe> probes = new ArrayList<>();
    for (int i = 0; i < 200; i++) {
      Probe probe = new Probe(0);
      probes.add(probe);
      variant.submit(probe);
    }
    int held = 0;
    for (Probe probe : probes) {
      held += 1 - probe.rejections.get() - probe.runs.get();
    }
    assertTrue(held <= variant.queueCapacity() + 1, held + " are held");
    assertTrue(variant.queueDepth() <= variant.queueCapacity() + 1);
    blocker.end.countDown();
    variant.close();
    for (Probe probe : probes) {
      assertEquals(1, probe.runs.get() + probe.rejections.get());
    }
  }

  @ParameterizedTest
  @MethodSource("thatIdleOtherwise")
  void everyRequestIsRunWithoutParking(Variants.Entry entry, IdleStrategy idle) {
    Variant variant = Probes.start(entry, new VariantSettings(2, 64, MINUTE).withIdle(idle));
    for (int i = 0; i < 100; i++) {
      assertEquals(1, runOne(variant, i).sends.get());
    }
    variant.close();
  }

  @ParameterizedTest
  @MethodSource("pooled")
  @Timeout(60)
  void closeDoesNotWaitForeverForARequestThatHangs(Variants.Entry entry)
      throws InterruptedException {
    Variant variant =
        Probes.start(entry, new VariantSettings(1, 16, MINUTE).withCloseNanosMax(20_000_000));
    Blocker blocker = new Blocker(0);
    awaitWaitingWorkers();
    variant.submit(blocker);
    blocker.started.await();
    variant.close();
    assertEquals(0, blocker.sends.get());
    blocker.end.countDown();
    Eventually.equal(1, blocker.sends::get, "is sent at last");
  }

  @Test
  void withoutAWaitingWorkerTheSubmittingThreadRunsTheRequest() throws InterruptedException {
    Variant variant = start(Variants.find("synchronous").orElseThrow(), 2, 64);
    awaitWaitingWorkers();
    List<Blocker> blockers = List.of(new Blocker(0), new Blocker(1));
    for (Blocker blocker : blockers) {
      variant.submit(blocker);
      blocker.started.await();
    }
    for (int i = 0; i < 64; i++) {
      Probe probe = new Probe(i);
      variant.submit(probe);
      assertEquals(Thread.currentThread().getName(), probe.thread);
    }
    for (Blocker blocker : blockers) {
      blocker.end.countDown();
      // a worker that waits in a blocker would count as one that waits for work
      Eventually.equal(1, blocker.sends::get, "is sent");
    }
    awaitWaitingWorkers();
    Probe probe = new Probe(0);
    variant.submit(probe);
    Eventually.equal(1, probe.runs::get, "runs");
    assertTrue(probe.thread.startsWith("worker-"), probe.thread);
    variant.close();
  }

  @Test
  void theStackRunsTheNewestFirst() throws InterruptedException {
    assertEquals(List.of(0, 9, 8, 7, 6, 5, 4, 3, 2, 1), order("stack"));
  }

  @Test
  void theQueuesRunTheOldestFirst() throws InterruptedException {
    assertEquals(List.of(0, 1, 2, 3, 4, 5, 6, 7, 8, 9), order("queue"));
    assertEquals(List.of(0, 1, 2, 3, 4, 5, 6, 7, 8, 9), order("array-queue"));
    assertEquals(List.of(0, 1, 2, 3, 4, 5, 6, 7, 8, 9), order("ms-queue"));
    assertEquals(List.of(0, 1, 2, 3, 4, 5, 6, 7, 8, 9), order("mpmc"));
    assertEquals(List.of(0, 1, 2, 3, 4, 5, 6, 7, 8, 9), order("queue-batch"));
    assertEquals(List.of(0, 1, 2, 3, 4, 5, 6, 7, 8, 9), order("disruptor"));
  }

  @Test
  void lateRequestsAreDroppedByTheVariantThatHasDeadlines() throws InterruptedException {
    Variant variant =
        Probes.start(Variants.find("priority").orElseThrow(), new VariantSettings(1, 64, 1));
    Probe late = new Probe(0);
    Probe range =
        new Probe(3) {
          @Override
          public long arrivedNanos() {
            return System.nanoTime() + MINUTE;
          }
        };
    variant.submit(late);
    variant.submit(range);
    variant.close();
    assertEquals(0, late.runs.get());
    assertEquals(1, late.rejections.get());
    assertEquals(1, range.runs.get());
  }

  static Stream<Variants.Entry> withPolicy(QueuePolicy policy) {
    return all().filter(entry -> entry.policies().contains(policy));
  }

  static Stream<Variants.Entry> thatDropTheOldest() {
    return withPolicy(QueuePolicy.DROP_OLDEST);
  }

  static Stream<Variants.Entry> thatDropLateOnes() {
    return withPolicy(QueuePolicy.DROP_LATE);
  }

  @ParameterizedTest
  @MethodSource("thatDropTheOldest")
  void theNewestReplacesTheOldestIfThePolicyAllows(Variants.Entry entry)
      throws InterruptedException {
    int capacity = 16;
    Variant variant =
        Probes.start(
            entry, new VariantSettings(1, capacity, MINUTE).withPolicy(QueuePolicy.DROP_OLDEST));
    Blocker blocker = new Blocker(0);
    variant.submit(blocker);
    blocker.started.await();
    List<Probe> probes = new ArrayList<>();
    for (int i = 0; i < 3 * capacity; i++) {
      Probe probe = new Probe(0);
      probes.add(probe);
      variant.submit(probe);
    }
    for (Probe probe : probes.subList(0, 2 * capacity)) {
      assertEquals(1, probe.rejections.get());
      assertEquals(Rejection.DROPPED, probe.why);
    }
    blocker.end.countDown();
    variant.close();
    for (Probe probe : probes.subList(2 * capacity, 3 * capacity)) {
      assertEquals(1, probe.runs.get());
    }
  }

  @ParameterizedTest
  @MethodSource("thatDropLateOnes")
  void lateRequestsAreDroppedIfThePolicyAllows(Variants.Entry entry) {
    Variant variant =
        Probes.start(entry, new VariantSettings(1, 16, 1).withPolicy(QueuePolicy.DROP_LATE));
    Probe late = new Probe(0);
    variant.submit(late);
    variant.close();
    assertEquals(0, late.runs.get());
    assertEquals(Rejection.DEADLINE, late.why);
  }

  @Test
  void requestsForOneKeyNeverRunAtOnceIfKeysBelongToWorkers() throws InterruptedException {
    Variant variant = start(Variants.find("sharded").orElseThrow(), 4, 64);
    Set<String> threads = ConcurrentHashMap.newKeySet();
    for (int i = 0; i < 100; i++) {
      Probe probe = new Probe(12345);
      variant.submit(probe);
      Eventually.equal(1, probe.runs::get, "runs");
      threads.add(probe.thread);
    }
    variant.close();
    assertEquals(1, threads.size());
  }

  private static List<Integer> order(String name) throws InterruptedException {
    Variant variant = start(Variants.find(name).orElseThrow(), 1, 64);
    List<Integer> order = new ArrayList<>();
    Blocker first =
        new Blocker(0) {
          @Override
          public void execute() {
            order.add(0);
            super.execute();
          }
        };
    variant.submit(first);
    first.started.await();
    for (int i = 1; i < 10; i++) {
      int number = i;
      variant.submit(
          new Probe(0) {
            @Override
            public void execute() {
              order.add(number);
              super.execute();
            }
          });
    }
    first.end.countDown();
    variant.close();
    return order;
  }
}
