package lsmlab.server.http;

import java.io.IOException;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import lsmlab.server.metrics.ServiceMetrics;
import lsmlab.server.request.RequestParsing;
import lsmlab.server.variant.Variant;
import lsmlab.server.variant.VariantSettings;
import lsmlab.server.variant.Variants;
import lsmlab.storage.Engine;

/** A data port on a free port, with an engine of the test. */
public final class TestServer implements AutoCloseable {

  public static final int MAX_VALUE_BYTES = 1 << 20;

  private final Engine engine;
  private final Variant variant;
  private final LsmHttpServer server;
  public final ServiceMetrics metrics = new ServiceMetrics();

  public TestServer(String variantName, Engine engine) throws IOException {
    this(variantName, engine, new VariantSettings(16, 4096, TimeUnit.SECONDS.toNanos(60)), 1000);
  }

  public TestServer(String variantName, Engine engine, VariantSettings settings, int maxConnections)
      throws IOException {
    this(variantName, engine, settings, maxConnections, MAX_VALUE_BYTES);
  }

  public TestServer(
      String variantName,
      Engine engine,
      VariantSettings settings,
      int maxConnections,
      int maxValueBytes)
      throws IOException {
    this(variantName, engine, settings, maxConnections, maxValueBytes, 2);
  }

  public TestServer(
      String variantName,
      Engine engine,
      VariantSettings settings,
      int maxConnections,
      int maxValueBytes,
      int selectors)
      throws IOException {
    this(variantName, engine, settings, maxConnections, maxValueBytes, selectors, 0);
  }

  public TestServer(
      String variantName,
      Engine engine,
      VariantSettings settings,
      int maxConnections,
      int maxValueBytes,
      int selectors,
      int refusalsPerSecondMax)
      throws IOException {
    this(
        variantName,
        engine,
        settings,
        new LsmHttpServer.Settings(
            "127.0.0.1",
            0,
            selectors,
            maxValueBytes,
            maxConnections,
            refusalsPerSecondMax,
            RequestParsing.BYTES));
  }

  /** Runs requests on the selector, and reads them in the given way. */
  TestServer(Engine engine, RequestParsing how) throws IOException {
    this(
        "sync",
        engine,
        new VariantSettings(1, 1, 1),
        new LsmHttpServer.Settings("127.0.0.1", 0, 1, MAX_VALUE_BYTES, 1000, 0, how));
  }

  private TestServer(
      String variantName, Engine engine, VariantSettings settings, LsmHttpServer.Settings port)
      throws IOException {
    this.engine = engine;
    Set<Thread> others;
    Set<Thread> own;
    synchronized (TestServer.class) { // campaigns of the fuzzer run side by side
      others = workers();
      variant =
          Variants.find(variantName)
              .orElseThrow()
              .factory()
              .apply(settings.withStorage(engine::write));
      own = workers();
    }
    own.removeAll(others);
    server = LsmHttpServer.bind(port, engine, variant, metrics);
    server.start();
    Eventually.equal(0, () -> busy(own), "workers that do not wait for work yet");
  }

  private static Set<Thread> workers() {
    Set<Thread> workers = new HashSet<>(Thread.getAllStackTraces().keySet());
    workers.removeIf(thread -> !thread.getName().startsWith("worker-"));
    return workers;
  }

  private static int busy(Set<Thread> workers) {
    int busy = 0;
    for (Thread worker : workers) {
      Thread.State state = worker.getState();
      busy += state == Thread.State.WAITING || state == Thread.State.TIMED_WAITING ? 0 : 1;
    }
    return busy;
  }

  /**
   * Workers of all servers in this JVM that are not waiting. A variant that hands over runs requests itself until one
   * waits.
   */
  public static int busyWorkers() {
    return busy(workers());
  }

  public int port() {
    return server.port();
  }

  public RawClient connect() throws IOException {
    return new RawClient(server.port());
  }

  public LsmHttpServer server() {
    return server;
  }

  public Variant variant() {
    return variant;
  }

  @Override
  public void close() {
    server.drain(TimeUnit.SECONDS.toNanos(5));
    variant.close();
    server.stop();
    engine.close();
  }
}
