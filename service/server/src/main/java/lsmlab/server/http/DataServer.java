package lsmlab.server.http;

import java.io.IOException;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import lsmlab.server.metrics.Recorder;
import lsmlab.server.metrics.ServiceMetrics;
import lsmlab.server.variant.Rejection;
import lsmlab.server.variant.Variant;
import lsmlab.storage.Engine;
import one.nio.net.Session;
import one.nio.net.Socket;
import one.nio.server.AcceptorConfig;
import one.nio.server.RejectedSessionException;
import one.nio.server.SelectorThread;
import one.nio.server.Server;
import one.nio.server.ServerConfig;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The data port: accepts connections, spreads them over selector threads, and holds what connections share.
 *
 * <p>Limits: connections in number; a request's head, body and time to arrive; the time that a reply may wait for its
 * reader; and the memory of all large requests that arrive and of all replies that wait. Each says what happens at the limit.
 */
public final class DataServer extends Server {

  private static final Logger log = LoggerFactory.getLogger(DataServer.class);

  /** A connection without a request for so long is closed. */
  static final long IDLE_MILLIS_MAX = 600_000;

  /** A request that has not arrived completely after so long is answered 408. */
  static final long REQUEST_MILLIS_MAX = 30_000;

  /** A connection that takes nothing of a waiting reply for so long is closed. */
  static final long WRITE_STALL_MILLIS_MAX = 30_000;

  /** So many requests a second, over all connections, are turned away for overload, and not more. */
  private static final int TURNED_AWAY_PER_SECOND_MAX = 5_000;

  /** What Retry-After asks of a client; no connection is held off for longer. */
  private static final long HOLD_OFF_NANOS_MAX = TimeUnit.SECONDS.toNanos(1);

  private static final int CHECK_SECONDS = 5;
  private static final int BACKLOG = 4096;
  private static final int BIND_TRIES = 20;

  /** Replies up to this size are sent however much memory waits for slow readers. */
  private static final int SMALL_REPLY_BYTES = 16 * 1024;

  /**
   * What a data port is made of.
   *
   * @param port 0 for a free one
   * @param selectors selector threads, 0 for as many as there are CPUs
   */
  public record Settings(
      String host, int port, int selectors, int maxValueBytes, int maxConnections) {}

  private final Settings settings;
  private final Engine engine;
  private final Variant variant;
  private final ServiceMetrics metrics;
  private final Set<Connection> connections = ConcurrentHashMap.newKeySet();
  private final List<EventLoop> loops = new ArrayList<>();
  private final ScheduledExecutorService checks =
      Executors.newSingleThreadScheduledExecutor(
          task -> {
            Thread thread = new Thread(task, "connection-check");
            thread.setDaemon(true);
            return thread;
          });
  private final AtomicLong requestMemory = new AtomicLong();
  private final long requestMemoryMax = Runtime.getRuntime().maxMemory() / 8;
  private final AtomicLong replyMemory = new AtomicLong();
  private final long replyMemoryMax = Runtime.getRuntime().maxMemory() / 8;
  private final ThreadLocal<ReplyBuffer> replyBuffers =
      ThreadLocal.withInitial(() -> new ReplyBuffer(4096));
  private final ThreadLocal<QueryDecoder> queryDecoders =
      ThreadLocal.withInitial(QueryDecoder::new);
  private volatile boolean stopping;

  private DataServer(
      ServerConfig config,
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
    replaceSelectors(config);
  }

  /** Puts loops of our own in the place of one-nio's selector threads, which have not been started. */
  private void replaceSelectors(ServerConfig config) throws IOException {
    for (SelectorThread unused : selectors) {
      unused.selector.close();
    }
    selectors = new SelectorThread[0];
    cleanup.update(selectors, 0);
    int count =
        settings.selectors() == 0
            ? Runtime.getRuntime().availableProcessors()
            : settings.selectors();
    for (int i = 0; i < count; i++) {
      Recorder recorder = metrics.newRecorder();
      loops.add(new EventLoop(config.formatSelectorThreadName(i), recorder, engine));
    }
  }

  /**
   * Binds the port; {@link #start} accepts connections.
   *
   * @throws IOException if the port cannot be had
   */
  public static DataServer bind(
      Settings settings, Engine engine, Variant variant, ServiceMetrics metrics)
      throws IOException {
    for (int left = BIND_TRIES; ; left--) {
      int port = settings.port() == 0 ? freePort() : settings.port();
      try {
        return new DataServer(config(settings, port), settings, engine, variant, metrics);
      } catch (IOException e) {
        // a free port may be taken by someone else before it is bound here
        if (settings.port() != 0 || left == 0) {
          throw e;
        }
      }
    }
  }

  private static ServerConfig config(Settings settings, int port) {
    AcceptorConfig acceptor = new AcceptorConfig();
    acceptor.address = settings.host();
    acceptor.port = port;
    acceptor.backlog = BACKLOG;
    ServerConfig config = new ServerConfig();
    config.acceptors = new AcceptorConfig[] {acceptor};
    config.selectors = 1; // replaced before it is started
    config.closeSessions = true;
    return config;
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0)) {
      return socket.getLocalPort();
    }
  }

  /** The port that is bound. */
  public int port() {
    return port;
  }

  @Override
  public Session createSession(Socket socket) throws RejectedSessionException {
    if (metrics.connections().incrementAndGet() > settings.maxConnections()) {
      metrics.connections().decrementAndGet();
      metrics.reject(Rejection.CONNECTIONS);
      byte[] reply = Replies.empty(503, Persistence.CLOSE);
      try {
        socket.write(reply, 0, reply.length, 0);
      } catch (IOException e) {
        throw new RejectedSessionException("too many connections; the client is gone: " + e);
      }
      throw new RejectedSessionException("too many connections");
    }
    Connection connection = new Connection(socket, this);
    connections.add(connection);
    return connection;
  }

  @Override
  public void register(Session session) {
    ThreadLocalRandom random = ThreadLocalRandom.current();
    EventLoop one = loops.get(random.nextInt(loops.size()));
    EventLoop other = loops.get(random.nextInt(loops.size()));
    (one.connections() < other.connections() ? one : other).register(session);
  }

  @Override
  public int getConnections() {
    return connections.size();
  }

  @Override
  @SuppressWarnings("FutureReturnValueIgnored") // the task says itself when it fails
  public synchronized void start() {
    loops.forEach(EventLoop::start);
    super.start();
    checks.scheduleWithFixedDelay(this::checkNow, CHECK_SECONDS, CHECK_SECONDS, TimeUnit.SECONDS);
  }

  /**
   * Has a connection resumed after a pause, so long that all connections together bring no more than {@value
   * #TURNED_AWAY_PER_SECOND_MAX} requests a second to be turned away.
   *
   * @return false where the server stops: no pause then
   */
  @SuppressWarnings("FutureReturnValueIgnored") // resume handles its own failures
  boolean holdOff(Connection connection) {
    long nanos = TimeUnit.SECONDS.toNanos(metrics.connections().get()) / TURNED_AWAY_PER_SECOND_MAX;
    try {
      checks.schedule(
          () -> resume(connection), Math.min(nanos, HOLD_OFF_NANOS_MAX), TimeUnit.NANOSECONDS);
      return true;
    } catch (RejectedExecutionException e) {
      return false;
    }
  }

  private static void resume(Connection connection) {
    try {
      connection.resume();
    } catch (RuntimeException e) {
      connection.handleException(e);
    }
  }

  private void checkNow() {
    try {
      check(System.currentTimeMillis());
    } catch (RuntimeException e) {
      log.error("connections could not be checked", e);
    }
  }

  @Override
  public synchronized void stop() {
    checks.shutdown();
    super.stop();
    connections.forEach(Connection::close);
    loops.forEach(EventLoop::shutdown);
  }

  /**
   * Ends what has taken too long. one-nio has a thread for that, which walks its selectors' tables while selector
   * threads change them; this one walks the server's own set.
   */
  void check(long nowMillis) {
    for (Connection connection : connections) {
      connection.checkTimes(nowMillis);
    }
  }

  /**
   * Stops in order: no new connection, idle ones closed, requests in flight answered and then their connections closed.
   *
   * @return whether all was answered in time
   */
  public boolean drain(long timeoutNanos) {
    long deadline = System.nanoTime() + timeoutNanos;
    stopping = true;
    acceptor.shutdown();
    while (true) {
      boolean busy = false;
      for (Connection connection : connections) {
        busy |= !connection.closeIfIdle();
      }
      if (!busy || System.nanoTime() - deadline > 0) {
        return !busy;
      }
      LockSupport.parkNanos(1_000_000);
    }
  }

  boolean stopping() {
    return stopping;
  }

  Engine engine() {
    return engine;
  }

  Variant variant() {
    return variant;
  }

  ServiceMetrics metrics() {
    return metrics;
  }

  int maxValueBytes() {
    return settings.maxValueBytes();
  }

  /** Bytes of replies that wait for slow readers. */
  AtomicLong replyMemory() {
    return replyMemory;
  }

  /** Whether a reply of that size had better not be begun, because slow readers hold too much memory already. */
  boolean replyMemoryShort(int replyBytes) {
    return replyBytes > SMALL_REPLY_BYTES && replyMemory.get() > replyMemoryMax;
  }

  /**
   * This thread's buffer; a virtual thread, which lives for one request, gets a small new one.
   *
   * @param loop the loop whose thread this is, or null
   */
  ReplyBuffer replyBuffer(EventLoop loop) {
    if (loop != null) {
      return loop.replies();
    }
    return Thread.currentThread().isVirtual() ? new ReplyBuffer(1024) : replyBuffers.get();
  }

  QueryDecoder queryDecoder() {
    return queryDecoders.get();
  }

  /**
   * Notes that requests which arrive hold so many bytes more, or fewer where negative.
   *
   * @return whether that is within the budget; if not, give the bytes back
   */
  boolean holdRequestBytes(int bytes) {
    return requestMemory.addAndGet(bytes) <= requestMemoryMax;
  }

  /** Bytes of large requests that are arriving or in flight. */
  long requestMemory() {
    return requestMemory.get();
  }

  void connectionClosed(Connection connection) {
    connections.remove(connection);
    metrics.connections().decrementAndGet();
  }
}
