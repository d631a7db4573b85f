package lsmlab.server.variant;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import lsmlab.server.http.Eventually;
import lsmlab.server.http.TestServer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The contract of {@link Variant}, of every one that is registered, without HTTP or storage. */
class VariantsTest {

  private static final long MINUTE = TimeUnit.MINUTES.toNanos(1);

  /** A request that counts what happens to it. */
  static class Probe implements Request {
    final AtomicInteger runs = new AtomicInteger();
    final AtomicInteger rejections = new AtomicInteger();
    final int hash;
    final long arrived = System.nanoTime();
    volatile Rejection why;
    volatile String thread;
    volatile boolean virtual;

    Probe(int hash) {
      this.hash = hash;
    }

    @Override
    public void run() {
      thread = Thread.currentThread().getName();
      virtual = Thread.currentThread().isVirtual();
      runs.incrementAndGet();
    }

    @Override
    public void reject(Rejection reason) {
      why = reason;
      rejections.incrementAndGet();
    }

    @Override
    public Kind kind() {
      return Kind.values()[hash & 3];
    }

    @Override
    public int keyHash() {
      return hash;
    }

    @Override
    public long arrivedNanos() {
      return arrived;
    }
  }

  /** A request that keeps its worker busy until it is told. */
  static class Blocker extends Probe {
    final CountDownLatch started = new CountDownLatch(1);
    final CountDownLatch end = new CountDownLatch(1);

    Blocker(int hash) {
      super(hash);
    }

    @Override
    public void run() {
      super.run();
      started.countDown();
      try {
        end.await();
      } catch (InterruptedException e) {
        throw new AssertionError("a worker must not be interrupted", e);
      }
    }
  }

  static Stream<Variants.Entry> all() {
    return Variants.all().stream();
  }

  static Stream<Variants.Entry> pooled() {
    return all().filter(entry -> !entry.name().equals("sync"));
  }

  private static Variant start(Variants.Entry entry, int workers, int capacity) {
    return entry.factory().apply(new VariantSettings(workers, capacity, MINUTE));
  }

  /** A variant that hands over needs a worker that waits already; others do not mind. */
  private static void awaitWaitingWorkers() {
    Eventually.equal(0, TestServer::busyWorkers, "workers that do not wait for work");
  }

  /** Submits until one is run. */
  private static Probe runOne(Variant variant, int hash) {
    long deadline = System.nanoTime() + MINUTE;
    while (System.nanoTime() < deadline) {
      Probe probe = new Probe(hash);
      variant.submit(probe);
      Eventually.equal(1, () -> probe.runs.get() + probe.rejections.get(), "ends");
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
    for (String name : names) {
      assertTrue(name.matches("worker-\\d+"), name);
    }
  }

  @ParameterizedTest
  @MethodSource("pooled")
  void submitNeverWaitsAndWhatWaitsIsBoundedAndRunAtTheEnd(Variants.Entry entry)
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

  @Test
  void whatNoWorkerWaitsForIsRunByWhoSubmitsIt() throws InterruptedException {
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
    blockers.forEach(blocker -> blocker.end.countDown());
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
  }

  @Test
  void lateRequestsAreDroppedByTheVariantThatHasDeadlines() throws InterruptedException {
    Variant variant =
        Variants.find("priority").orElseThrow().factory().apply(new VariantSettings(1, 64, 1));
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
  void theNewestReplacesTheOldestWhereThePolicySaysSo(Variants.Entry entry)
      throws InterruptedException {
    int capacity = 16;
    Variant variant =
        entry.factory().apply(new VariantSettings(1, capacity, MINUTE, QueuePolicy.DROP_OLDEST));
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
  @MethodSource("thatDropTheOldest")
  void aReplyThatBringsTheNextRequestDoesNotDeepenTheStack(Variants.Entry entry)
      throws InterruptedException {
    int capacity = 16;
    Variant variant =
        entry.factory().apply(new VariantSettings(1, capacity, MINUTE, QueuePolicy.DROP_OLDEST));
    Blocker blocker = new Blocker(0);
    variant.submit(blocker);
    blocker.started.await();
    AtomicInteger depth = new AtomicInteger();
    AtomicInteger deepest = new AtomicInteger();
    class Pipelined extends Probe {
      Pipelined() {
        super(0);
      }

      @Override
      public void reject(Rejection reason) {
        super.reject(reason);
        deepest.accumulateAndGet(depth.incrementAndGet(), Math::max);
        if (reason == Rejection.DROPPED && depth.get() < 50) {
          variant.submit(new Pipelined());
        }
        depth.decrementAndGet();
      }
    }
    for (int i = 0; i < 2 * capacity; i++) {
      variant.submit(new Pipelined());
    }
    blocker.end.countDown();
    variant.close();
    assertTrue(deepest.get() == 2, "depth " + deepest);
  }

  @ParameterizedTest
  @MethodSource("thatDropLateOnes")
  void whoHasWaitedTooLongIsDroppedWhereThePolicySaysSo(Variants.Entry entry) {
    Variant variant = entry.factory().apply(new VariantSettings(1, 16, 1, QueuePolicy.DROP_LATE));
    Probe late = new Probe(0);
    variant.submit(late);
    variant.close();
    assertEquals(0, late.runs.get());
    assertEquals(Rejection.DEADLINE, late.why);
  }

  @Test
  void requestsForOneKeyNeverRunAtOnceWhereKeysHaveWorkers() throws InterruptedException {
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
          public void run() {
            order.add(0);
            super.run();
          }
        };
    variant.submit(first);
    first.started.await();
    for (int i = 1; i < 10; i++) {
      int number = i;
      variant.submit(
          new Probe(0) {
            @Override
            public void run() {
              order.add(number);
            }
          });
    }
    first.end.countDown();
    variant.close();
    return order;
  }
}
