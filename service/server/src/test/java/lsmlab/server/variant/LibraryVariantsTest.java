package lsmlab.server.variant;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import jdk.management.VirtualThreadSchedulerMXBean;
import lsmlab.server.http.Eventually;
import lsmlab.server.request.Rejection;
import lsmlab.server.variant.Probes.Blocker;
import lsmlab.server.variant.Probes.Probe;
import one.nio.net.Session;
import one.nio.server.AcceptorConfig;
import one.nio.server.Server;
import one.nio.server.ServerConfig;
import org.junit.jupiter.api.Test;

/** Checks the variants that use a library to schedule requests: each must use the library in its name. */
class LibraryVariantsTest {

  private static final long MINUTE = 60_000_000_000L;

  private static Variant start(String name, VariantSettings settings) {
    return Probes.start(Variants.find(name).orElseThrow(), settings);
  }

  /** The classes on the stack of a request that runs. */
  private static Set<String> frames(String name) {
    AtomicReference<StackTraceElement[]> stack = new AtomicReference<>();
    Probe probe =
        new Probe(0) {
          @Override
          public void execute() {
            stack.set(Thread.currentThread().getStackTrace());
            super.execute();
          }
        };
    try (Variant variant = start(name, new VariantSettings(2, 16, MINUTE))) {
      variant.submit(probe);
      Eventually.equal(1, probe.sends::get, "is sent");
    }
    Set<String> frames = ConcurrentHashMap.newKeySet();
    Stream.of(stack.get()).forEach(frame -> frames.add(frame.getClassName()));
    return frames;
  }

  @Test
  void theDisruptorIsLmaxs() {
    assertTrue(frames("disruptor").contains("com.lmax.disruptor.BatchEventProcessor"));
  }

  /** The library would halt workers that have not begun to run, even while requests wait. */
  @Test
  void aDisruptorThatIsClosedAtOnceCompletesItsRequests() {
    for (int i = 0; i < 300; i++) {
      Variant variant = new DisruptorVariant(new VariantSettings(4, 16, MINUTE));
      Probe probe = new Probe(i);
      variant.submit(probe);
      variant.close();
      assertEquals(1, probe.sends.get(), "in round " + i);
    }
  }

  @Test
  void theDisruptorsWorkersTakeTurns() {
    List<Probe> probes = new ArrayList<>();
    try (Variant variant = start("disruptor", new VariantSettings(3, 16, MINUTE))) {
      for (int i = 0; i < 9; i++) {
        Probe probe = new Probe(i);
        probes.add(probe);
        variant.submit(probe);
      }
    }
    for (int i = 0; i < 9; i++) {
      assertEquals("worker-" + i % 3, probes.get(i).thread);
    }
  }

  @Test
  void aSlowRequestDoesNotHoldUpTheOtherWorkersOfTheDisruptor() throws InterruptedException {
    try (Variant variant = start("disruptor", new VariantSettings(2, 16, MINUTE))) {
      Blocker slow = new Blocker(0);
      variant.submit(slow);
      slow.started.await();
      Probe other = new Probe(0);
      variant.submit(other);
      Eventually.equal(1, other.sends::get, "is sent");
      slow.end.countDown();
    }
  }

  @Test
  void theLibrarysPoolRefusesWhenAllItsWorkersAreBusy() throws InterruptedException {
    try (Variant variant = start("one-nio-workers", new VariantSettings(2, 16, MINUTE))) {
      List<Blocker> blockers = List.of(new Blocker(0), new Blocker(0));
      for (Blocker blocker : blockers) {
        variant.submit(blocker);
        blocker.started.await();
      }
      Probe refused = new Probe(0);
      variant.submit(refused);
      assertEquals(Rejection.QUEUE_FULL, refused.why);
      blockers.forEach(blocker -> blocker.end.countDown());
    }
  }

  /** Two selectors that each have one request in flight, and eight workers. */
  @Test
  void theLibrarysPoolHasNoCapacityBesideItsWorkers() throws InterruptedException {
    AtomicInteger refused = new AtomicInteger();
    try (Variant variant = start("one-nio-workers", new VariantSettings(8, 1, MINUTE))) {
      List<Thread> selectors = new ArrayList<>();
      for (int i = 0; i < 2; i++) {
        selectors.add(
            Thread.ofPlatform()
                .start(
                    () -> {
                      for (int request = 0; request < 1_000; request++) {
                        Probe probe = new Probe(0);
                        variant.submit(probe);
                        while (probe.sends.get() == 0 && probe.why == null) {
                          Thread.yield();
                        }
                        if (probe.why != null) {
                          refused.incrementAndGet();
                        }
                      }
                    }));
      }
      for (Thread selector : selectors) {
        selector.join();
      }
    }
    assertEquals(0, refused.get(), "requests refused though a worker was free");
  }

  @Test
  void virtualThreadsGetTheirCarriers() {
    VirtualThreadSchedulerMXBean scheduler =
        ManagementFactory.getPlatformMXBean(VirtualThreadSchedulerMXBean.class);
    int before = scheduler.getParallelism();
    try {
      start("virtual-threads", new VariantSettings(1, 16, MINUTE)).close();
      assertEquals(before, scheduler.getParallelism());
      start("virtual-threads", new VariantSettings(1, 16, MINUTE).withCarriers(before + 1)).close();
      assertEquals(before + 1, scheduler.getParallelism());
    } finally {
      scheduler.setParallelism(before);
    }
  }

  /** Counts connections by their listening socket. */
  private static final class Counting extends Server {
    final Set<Integer> acceptors = ConcurrentHashMap.newKeySet();

    Counting(ServerConfig config) throws IOException {
      super(config);
    }

    @Override
    public void register(Session session, int acceptor, int acceptorCount) {
      assertEquals(2, acceptorCount);
      acceptors.add(acceptor);
      super.register(session, acceptor, acceptorCount);
    }
  }

  @Test
  void everySelectorHasAListeningSocketOfItsOwn() throws IOException {
    AcceptorConfig acceptor = new AcceptorConfig();
    acceptor.address = "127.0.0.1";
    try (ServerSocket free = new ServerSocket(0)) {
      acceptor.port = free.getLocalPort();
    }
    ServerConfig config = new ServerConfig();
    config.acceptors = new AcceptorConfig[] {acceptor};
    config.selectors = 2;
    List<java.net.Socket> clients = new ArrayList<>();
    try (Variant variant = new PerCoreVariant()) {
      variant.configure(config);
      Counting server = new Counting(config);
      variant.attach(server);
      server.start();
      try {
        // the kernel chooses by a hash of the addresses: 64 clients in a row choose both
        for (int i = 0; i < 64; i++) {
          clients.add(new java.net.Socket(InetAddress.getLoopbackAddress(), acceptor.port));
        }
        Eventually.equal(64, server::getConnections, "connections");
        assertEquals(Set.of(0, 1), server.acceptors);
      } finally {
        for (java.net.Socket client : clients) {
          client.close();
        }
        // one-nio's stop() may fail while a selector removes a connection
        Eventually.equal(0, server::getConnections, "connections");
        server.stop();
      }
    }
  }
}
