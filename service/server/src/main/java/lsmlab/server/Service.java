package lsmlab.server;

import java.io.IOException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import lsmlab.server.admin.AdminServer;
import lsmlab.server.admin.Environment;
import lsmlab.server.admin.StoppingException;
import lsmlab.server.config.ServiceConfig;
import lsmlab.server.http.LsmHttpServer;
import lsmlab.server.metrics.MetricsPage;
import lsmlab.server.metrics.ServiceMetrics;
import lsmlab.server.variant.Variant;
import lsmlab.server.variant.VariantSettings;
import lsmlab.server.variant.Variants;
import lsmlab.storage.Engine;
import lsmlab.storage.Keeps;
import lsmlab.storage.ReadOnlyException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A running service: engine, variant, data port and admin port.
 *
 * <p>They start in that order and stop in the opposite order, so that every accepted request can be completed. The
 * service stops accepting connections, answers requests in flight, empties the variant's queue, and closes the engine.
 */
public final class Service implements AutoCloseable {

  /** Seconds that {@link #close} waits for requests in flight before it closes their connections. */
  public static final long DRAIN_SECONDS_MAX = 10;

  /** Seconds that {@link #close} waits for each of its other steps but the store. */
  private static final long STEP_SECONDS_MAX = 2;

  /** Seconds that {@link #close} takes. The store, which may be writing a table, has what the other steps leave. */
  private static final long STOP_SECONDS_MAX = 19;

  private static final Logger log = LoggerFactory.getLogger(Service.class);

  /** The keys of the configuration and the environment that become labels of {@code lsmlab_service_info}. */
  private static final List<String> INFO =
      List.of(
          "variant",
          "engine",
          "durability",
          "compaction",
          "level0_tables_max",
          "fanout",
          "block_bytes",
          "bloom_bits_per_key",
          "compression",
          "native_transport",
          "java_version");

  private final ServiceConfig config;
  private final Engine engine;
  private final EngineGuard guard;
  private final Variant variant;
  private final LsmHttpServer data;
  private final ServiceMetrics metrics;
  private final AdminServer admin;
  private volatile boolean ready;
  private boolean closed;

  private Service(ServiceConfig config, Engine engine, Variant variant) throws IOException {
    this.config = config;
    this.engine = engine;
    this.guard = new EngineGuard(engine);
    this.variant = variant;
    metrics = new ServiceMetrics(config.requestMetrics());
    LsmHttpServer.Settings settings =
        new LsmHttpServer.Settings(
            config.dataHost(),
            config.dataPort(),
            config.selectors(),
            config.maxValueBytes(),
            config.maxConnections(),
            config.refusalsPerSecondMax(),
            config.request());
    try {
      data = LsmHttpServer.bind(settings, engine, variant, metrics);
    } catch (IOException e) {
      throw new IOException(cannotBind("data", config.dataHost(), config.dataPort(), e), e);
    }
    MetricsPage page = new MetricsPage(metrics, variant, guard::stats, info());
    try {
      admin =
          AdminServer.start(
              config.adminHost(),
              config.adminPort(),
              page::render,
              this::describe,
              this::notReady,
              data::isHealthy,
              guard,
              metrics::countRequests);
    } catch (IOException e) {
      data.stop();
      throw new IOException(cannotBind("admin", config.adminHost(), config.adminPort(), e), e);
    }
  }

  /**
   * Opens the store and starts serving.
   *
   * @throws IOException if a port is not available; the message is one clear line
   * @throws RuntimeException if the store cannot be opened
   */
  public static Service start(ServiceConfig config) throws IOException {
    Engine engine = StoreOpener.open(config);
    VariantSettings settings =
        new VariantSettings(
                config.workers(),
                config.queueCapacity(),
                TimeUnit.MILLISECONDS.toNanos(config.deadlineMs()))
            .withPolicy(config.queuePolicy())
            .withIdle(config.idle())
            .withBatch(config.batch())
            .withCarriers(config.carriers())
            .withStorage(engine::write);
    Variant variant = Variants.find(config.variant()).orElseThrow().factory().apply(settings);
    Service service;
    try {
      service = new Service(config, engine, variant);
    } catch (IOException | RuntimeException e) {
      variant.close();
      engine.close();
      throw e;
    }
    if (!Environment.nativeTransport()) {
      log.warn(
          "one-nio's native transport cannot be loaded (it needs Linux with glibc 2.38 or later): "
              + "Java's sockets are used; do not compare figures measured with and without it");
    }
    service.data.start();
    service.ready = true;
    return service;
  }

  /** Returns why a port cannot be used and what to do, as one line. */
  static String cannotBind(String which, String host, int port, IOException e) {
    String why = String.valueOf(e.getMessage());
    String advice =
        why.contains("already in use")
            ? "stop the program that uses it, or set another " + which + "_port"
            : why.contains("Too many open files")
                ? "raise the limit of open files (ulimit -n)"
                : "set another " + which + "_host or " + which + "_port";
    return "%s port %s:%d cannot be used (%s): %s".formatted(which, host, port, why, advice);
  }

  private Map<String, String> info() {
    Map<String, Object> all = configuration();
    Map<String, String> info = new LinkedHashMap<>();
    INFO.forEach(key -> info.put(key, all.get(key).toString()));
    return info;
  }

  /** Returns the effective configuration and the environment, which {@code /config} shows. */
  private Map<String, Object> describe() {
    Map<String, Object> all = configuration();
    all.put("data_port", dataPort()); // the free ones, if 0 was given
    all.put("admin_port", adminPort());
    all.put("request_metrics", metrics.countsRequests() ? "on" : "off");
    return all;
  }

  private Map<String, Object> configuration() {
    Map<String, Object> all = config.toMap();
    all.put("keeps", StoreOpener.keeps(config).name().toLowerCase(Locale.ROOT));
    Environment.describe(all);
    return all;
  }

  /** Returns why requests are not accepted, or null if they are. */
  private String notReady() {
    if (!ready) {
      return "not ready";
    }
    try {
      guard.checkWritable();
      return null;
    } catch (ReadOnlyException | StoppingException e) {
      return e.getMessage();
    }
  }

  public int dataPort() {
    return data.port();
  }

  public int adminPort() {
    return admin.port();
  }

  /**
   * Runs one step of the stop. Returns false if it fails, or has not ended within its time limit; it then continues on
   * its own thread.
   */
  private static boolean withTimeLimit(String what, Duration limit, Runnable step) {
    FutureTask<Boolean> task = new FutureTask<>(step, true);
    Thread.ofPlatform().daemon().name("stop").start(task);
    try {
      return task.get(limit.toMillis(), TimeUnit.MILLISECONDS);
    } catch (ExecutionException e) {
      log.error("{} could not be closed", what, e.getCause());
    } catch (TimeoutException e) {
      log.warn("{} did not stop within {} s", what, limit.toSeconds());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    return false;
  }

  /**
   * Stops all parts in order. Idempotent. Every step has a time limit; together they take less than 20 s. If a request
   * or an action of the admin port is still using the engine after that, does not close the engine. The next start then
   * finds the store as after a kill: with every acknowledged write.
   *
   * @throws IllegalStateException if requests in flight were not answered within {@value #DRAIN_SECONDS_MAX} s, or the
   * store was not closed
   */
  @Override
  public synchronized void close() {
    if (closed) {
      return;
    }
    closed = true;
    ready = false;
    final long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(STOP_SECONDS_MAX);
    Duration step = Duration.ofSeconds(STEP_SECONDS_MAX);
    final boolean drained = data.drain(TimeUnit.SECONDS.toNanos(DRAIN_SECONDS_MAX));
    boolean variantEnded = withTimeLimit("the variant", step, variant::close);
    boolean dataEnded = withTimeLimit("the data port", step, data::stop);
    boolean unused = guard.shut(step.toNanos()) && variantEnded && dataEnded;
    Duration rest = Duration.ofNanos(end - System.nanoTime());
    boolean storeClosed = unused && withTimeLimit("the store", rest, engine::close);
    admin.close();
    if (!drained) {
      throw new IllegalStateException(
          "requests were still in flight after "
              + DRAIN_SECONDS_MAX
              + " s; their connections were closed");
    }
    if (!storeClosed) {
      throw new IllegalStateException(
          (unused ? "" : "the store is still in use: ")
              + "the store was not closed; the next start recovers "
              + (StoreOpener.keeps(config) == Keeps.KILLED
                  ? "all acknowledged writes"
                  : "only the writes that are in tables"));
    }
    log.info("stopped");
  }
}
