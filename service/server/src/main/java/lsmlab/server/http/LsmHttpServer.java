package lsmlab.server.http;

import java.io.IOException;
import java.net.ServerSocket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import lsmlab.server.metrics.Method;
import lsmlab.server.metrics.ServiceMetrics;
import lsmlab.server.request.Rejection;
import lsmlab.server.request.RequestParsing;
import lsmlab.server.variant.Variant;
import lsmlab.storage.Engine;
import one.nio.http.HttpServer;
import one.nio.http.HttpServerConfig;
import one.nio.http.HttpSession;
import one.nio.http.Request;
import one.nio.http.Response;
import one.nio.net.Socket;
import one.nio.server.AcceptorConfig;
import one.nio.server.RejectedSessionException;
import one.nio.server.SelectorThread;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The data port: one-nio's HTTP server, which passes each request to the variant and enforces the limits that all
 * connections share.
 *
 * <p>An event loop, a parser and response buffers of our own were measured beside one-nio's: they were no faster. What is
 * overridden here is for limits and correctness.
 *
 * <p>docs/server-robustness.md lists the limits and what happens at each.
 */
public final class LsmHttpServer extends HttpServer {

  private static final Logger log = LoggerFactory.getLogger(LsmHttpServer.class);

  /** Longest pause of a connection: the value of Retry-After. */
  private static final long HOLD_OFF_NANOS_MAX = TimeUnit.SECONDS.toNanos(1);

  private static final int CHECK_MILLIS = 1_000;
  private static final int BACKLOG = 4096;
  private static final int BIND_TRIES = 20;

  /**
   * The settings of a data port.
   *
   * @param port port to bind; 0 for a free one
   * @param selectors number of selector threads; 0 for one per CPU
   * @param refusalsPerSecondMax maximum number of refusals a second because of overload, over all connections: after a
   * refusal the connection's next request waits; 0 for no limit
   */
  public record Settings(
      String host,
      int port,
      int selectors,
      int maxValueBytes,
      int maxConnections,
      int refusalsPerSecondMax,
      RequestParsing requestParsing) {}

  private final Settings settings;
  private final Engine engine;
  private final Variant variant;
  private final ServiceMetrics metrics;
  private final PatientAcceptor patientAcceptor;
  private final Set<LsmHttpSession> sessions = ConcurrentHashMap.newKeySet();
  private final ScheduledExecutorService checks =
      Executors.newSingleThreadScheduledExecutor(
          task -> {
            Thread thread = new Thread(task, "connection-check");
            thread.setDaemon(true);
            return thread;
          });
  private final MemoryBudget requestMemory = new MemoryBudget(Runtime.getRuntime().maxMemory() / 4);
  private final MemoryBudget responseMemory =
      new MemoryBudget(Runtime.getRuntime().maxMemory() / 4);
  private volatile boolean started;
  private volatile boolean stopping;

  private LsmHttpServer(
      HttpServerConfig config,
      Settings settings,
      Engine engine,
      Variant variant,
      ServiceMetrics metrics)
      throws IOException {
    super(config);
    this.settings = settings;
    this.engine = engine;
    this.variant = variant;
    this.metrics = metrics;
    acceptor.shutdown(); // not started yet
    try {
      patientAcceptor = new PatientAcceptor(this, config.acceptors[0]);
    } catch (IOException e) {
      for (SelectorThread selector : selectors) {
        selector.selector.close();
      }
      throw e;
    }
    acceptor = patientAcceptor;
  }

  /**
   * Binds the port. Connections are accepted from {@link #start} on.
   *
   * @throws IOException if the port is not available
   */
  public static LsmHttpServer bind(
      Settings settings, Engine engine, Variant variant, ServiceMetrics metrics)
      throws IOException {
    for (int left = BIND_TRIES; ; left--) {
      int port = settings.port() == 0 ? freePort() : settings.port();
      HttpServerConfig config = config(settings, port);
      variant.configure(config);
      try {
        LsmHttpServer server = new LsmHttpServer(config, settings, engine, variant, metrics);
        variant.attach(server);
        return server;
      } catch (IOException e) {
        // another process may take a free port before it is bound here
        if (settings.port() != 0 || left == 0) {
          throw e;
        }
      }
    }
  }

  private static HttpServerConfig config(Settings settings, int port) {
    AcceptorConfig acceptor = new AcceptorConfig();
    acceptor.address = settings.host();
    acceptor.port = port;
    acceptor.backlog = BACKLOG;
    HttpServerConfig config = new HttpServerConfig();
    config.acceptors = new AcceptorConfig[] {acceptor};
    config.selectors = settings.selectors();
    return config;
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0)) {
      return socket.getLocalPort();
    }
  }

  /** Returns the port to which the server is bound. */
  public int port() {
    return port;
  }

  // ---- connections and requests

  @Override
  public HttpSession createSession(Socket socket) throws RejectedSessionException {
    if (metrics.connections().incrementAndGet() > settings.maxConnections()) {
      metrics.connections().decrementAndGet();
      metrics.reject(Rejection.CONNECTIONS);
      refuse(socket);
      throw new RejectedSessionException("too many connections");
    }
    socket.setNoDelay(true); // the library sets it on its native sockets only
    LsmHttpSession session = new LsmHttpSession(socket, this);
    sessions.add(session);
    return session;
  }

  private static void refuse(Socket socket) {
    Response response = Responses.unavailable();
    response.addHeader("Connection: close");
    byte[] bytes = response.toBytes(true);
    try {
      socket.write(bytes, 0, bytes.length, 0);
    } catch (IOException e) {
      log.debug("the client of a refused connection is gone: {}", e.toString());
    }
  }

  void sessionClosed(LsmHttpSession session) {
    boolean removed = sessions.remove(session);
    assert removed : "the connection is closed twice";
    metrics.connections().decrementAndGet();
  }

  @Override
  public int getConnections() {
    return sessions.size();
  }

  /** Called by the library with each complete request. */
  @Override
  public void handleRequest(Request parsed, HttpSession from) throws IOException {
    LsmHttpSession session = (LsmHttpSession) from;
    LsmHttpRequest request = (LsmHttpRequest) parsed;
    if (request.refusal() != null) {
      refused(request.kind(), request.refusal());
      session.answer(request, Responses.refusal(request.refusal()), false);
      return;
    }
    submit(new Exchange(session, this, request, session.wokenUpNanos()));
  }

  /** Passes a request to the variant. If the variant throws, which its contract forbids, ends the connection. */
  void submit(Exchange exchange) {
    try {
      variant.submit(exchange);
    } catch (Throwable e) {
      exchange.abandon(e);
    }
  }

  /** Counts a request that is not served. */
  void refused(Method what, HttpRefusal why) {
    metrics.recorder().count(what, Integer.parseInt(why.code(), 0, 3, 10));
  }

  /**
   * Resumes a session after a pause, which is long enough that all sessions together get at most {@code
   * refusalsPerSecondMax} refusals a second. A pause never exceeds one second, even if more would be needed.
   *
   * <p>To answer every refusal at once was worse: a refusal costs nearly what a GET does, so at twice the saturated rate
   * the goodput of {@code queue} fell by half.
   *
   * @return false if no pause is needed
   */
  @SuppressWarnings("FutureReturnValueIgnored") // endHoldOff throws nothing
  boolean holdOff(LsmHttpSession session) {
    if (settings.refusalsPerSecondMax() == 0) {
      return false;
    }
    long nanos =
        TimeUnit.SECONDS.toNanos(metrics.connections().get()) / settings.refusalsPerSecondMax();
    try {
      checks.schedule(
          session::endHoldOff, Math.min(nanos, HOLD_OFF_NANOS_MAX), TimeUnit.NANOSECONDS);
      return true;
    } catch (RejectedExecutionException e) {
      return false; // the server stops
    }
  }

  // ---- start and stop

  @Override
  @SuppressWarnings("FutureReturnValueIgnored") // the task says itself when it fails
  public synchronized void start() {
    super.start();
    started = true;
    checks.scheduleWithFixedDelay(
        () -> check(Deadlines.now()), CHECK_MILLIS, CHECK_MILLIS, TimeUnit.MILLISECONDS);
  }

  /**
   * Ends connections that have exceeded a time limit. one-nio has its own thread for this. It walks its selectors'
   * tables while other threads change them, and gives up when they do. This method walks the server's own set.
   *
   * @param nowMillis the time in terms of {@link Deadlines#now}
   */
  void check(long nowMillis) {
    for (LsmHttpSession session : sessions) {
      try {
        session.check(nowMillis);
      } catch (Throwable e) {
        log.error("a connection could not be checked", e);
      }
    }
  }

  /** Whether the threads that accept connections and read requests are running. */
  public boolean isHealthy() {
    if (!started || stopping) {
      return true;
    }
    for (SelectorThread selector : selectors) {
      if (!selector.isAlive()) {
        return false;
      }
    }
    return patientAcceptor.isAlive();
  }

  /**
   * Stops in order: accepts no more connections, closes idle ones, and closes the others once their requests in flight
   * are answered. Connections that are still open at the timeout stay open until {@link #stop}.
   *
   * @param timeoutNanos longest wait in nanoseconds
   * @return whether every request was answered in time
   */
  public boolean drain(long timeoutNanos) {
    long deadline = System.nanoTime() + timeoutNanos;
    stopping = true;
    acceptor.shutdown();
    while (true) {
      boolean busy = false;
      for (LsmHttpSession session : sessions) {
        if (session.isBusy()) {
          busy = true;
        } else {
          session.closeIfIdle();
        }
      }
      if (sessions.isEmpty()) {
        return true;
      }
      if (System.nanoTime() - deadline > 0) {
        return !busy;
      }
      LockSupport.parkNanos(1_000_000);
    }
  }

  @Override
  public synchronized void stop() {
    checks.shutdown();
    super.stop();
    sessions.forEach(LsmHttpSession::closeAfterSelector);
  }

  SelectorThread[] selectorThreads() {
    return selectors;
  }

  boolean stopping() {
    return stopping;
  }

  Engine engine() {
    return engine;
  }

  ServiceMetrics metrics() {
    return metrics;
  }

  int maxValueBytes() {
    return settings.maxValueBytes();
  }

  RequestParsing requestParsing() {
    return settings.requestParsing();
  }

  /** Returns the budget in bytes for declared request bodies and for pipelined requests that wait. */
  MemoryBudget requestMemory() {
    return requestMemory;
  }

  /** Returns the budget in bytes for responses that wait for slow readers. */
  MemoryBudget responseMemory() {
    return responseMemory;
  }
}
