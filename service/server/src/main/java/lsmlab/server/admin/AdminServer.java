package lsmlab.server.admin;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import lsmlab.server.http.LogLimit;
import lsmlab.storage.OverloadedException;
import lsmlab.storage.ReadOnlyException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The admin port: the JDK's own HTTP server, with one thread {@code admin-N} per request. A scrape is answered even
 * while {@code /compact} waits and while other clients have sent only half of a request.
 */
public final class AdminServer implements AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(AdminServer.class);

  /** Maximum number of open connections; further ones are closed. */
  private static final int CONNECTIONS_MAX = 200;

  /** Number of seconds in which a request must arrive; after that its connection is closed. */
  private static final int REQUEST_SECONDS_MAX = 5;

  private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
  private static final LogLimit LIMIT = new LogLimit();

  /** Kept, because java.util.logging forgets the settings of a logger that nobody refers to. */
  private static final java.util.logging.Logger JDK_LOG =
      java.util.logging.Logger.getLogger("com.sun.net.httpserver");

  static {
    // The JDK's server reads these properties once, when it is loaded.
    setting(
        "sun.net.httpserver.nodelay",
        "true"); // otherwise a response waits for the client's delayed acknowledgement
    setting("sun.net.httpserver.maxReqTime", Integer.toString(REQUEST_SECONDS_MAX));
    setting("jdk.httpserver.maxConnections", Integer.toString(CONNECTIONS_MAX));
    JDK_LOG.setLevel(Level.FINER);
    JDK_LOG.setFilter(AdminServer::pauseAfterFailedAccept);
  }

  private static void setting(String name, String value) {
    System.setProperty(name, System.getProperty(name, value));
  }

  /**
   * Pauses the thread that accepts connections after it has failed to accept one. The JDK's server tries again at once,
   * so that it uses a whole CPU while the process has no free file descriptor. It calls nothing but its logger in
   * between.
   *
   * @return whether the record is logged
   */
  private static boolean pauseAfterFailedAccept(LogRecord logged) {
    if (logged.getThrown() instanceof IOException why
        && "Dispatcher (4)".equals(logged.getMessage())) {
      if (LIMIT.allows()) {
        log.error(
            "no connection can be accepted on the admin port, trying again every 100 ms: {}",
            why.toString());
      }
      LockSupport.parkNanos(PAUSE_NANOS);
    }
    return logged.getLevel().intValue() >= Level.INFO.intValue();
  }

  /** The actions of the admin port, which the service supplies. */
  public interface Actions {
    void flush();

    void compact();

    void quiesce();
  }

  private record Page(String method, String contentType, Supplier<String> text) {
    List<String> allowed() {
      return method.equals("GET") ? List.of("GET", "HEAD") : List.of(method);
    }
  }

  private final HttpServer server;
  private final ExecutorService threads;
  private final Map<String, Page> pages = new LinkedHashMap<>();
  private final String host;
  private final Supplier<String> notReady;
  private final BooleanSupplier healthy;

  private AdminServer(
      HttpServer server, String host, Supplier<String> notReady, BooleanSupplier healthy) {
    this.server = server;
    this.host = host;
    this.notReady = notReady;
    this.healthy = healthy;
    this.threads = Executors.newCachedThreadPool(threadFactory());
  }

  /**
   * Binds the port and serves requests.
   *
   * @param port port to bind; 0 for a free one
   * @param metrics the text of {@code /metrics}
   * @param config the content of {@code /config}
   * @param notReady the reason why the service accepts no requests; null if it accepts them
   * @param healthy whether all threads of the data port are running
   * @param countRequests switches the counting and timing of requests on or off
   * @throws IOException if the port is not available
   */
  public static AdminServer start(
      String host,
      int port,
      Supplier<String> metrics,
      Supplier<Map<String, Object>> config,
      Supplier<String> notReady,
      BooleanSupplier healthy,
      Actions actions,
      Consumer<Boolean> countRequests)
      throws IOException {
    HttpServer http = HttpServer.create(new InetSocketAddress(host, port), 64);
    AdminServer server = new AdminServer(http, host, notReady, healthy);
    String text = "text/plain; charset=utf-8";
    server.page("/metrics", "GET", "text/plain; version=0.0.4; charset=utf-8", metrics);
    server.page("/config", "GET", "application/json", () -> json(config.get()));
    server.page("/flush", "POST", text, () -> done(actions::flush));
    server.page("/compact", "POST", text, () -> done(actions::compact));
    server.page("/quiesce", "POST", text, () -> done(actions::quiesce));
    server.page("/request-metrics/on", "POST", text, () -> done(() -> countRequests.accept(true)));
    server.page(
        "/request-metrics/off", "POST", text, () -> done(() -> countRequests.accept(false)));
    http.createContext("/", server::handle);
    http.setExecutor(server.threads);
    http.start();
    return server;
  }

  /** Returns the port to which the server is bound. */
  public int port() {
    return server.getAddress().getPort();
  }

  private void page(String path, String method, String contentType, Supplier<String> text) {
    pages.put(path, new Page(method, contentType, text));
  }

  private void handle(HttpExchange exchange) throws IOException {
    try (exchange) {
      String refusal = Browsers.refusal(exchange.getRequestHeaders(), host);
      String path = exchange.getRequestURI().getPath();
      if (refusal != null) {
        respond(exchange, 403, refusal + "\n");
        return;
      }
      if ("/ready".equals(path)) {
        state(exchange, notReady.get(), "ready");
        return;
      }
      if ("/health".equals(path)) {
        String dead = "a thread of the data port has died: see the log";
        state(exchange, healthy.getAsBoolean() ? null : dead, "ok");
        return;
      }
      Page page = pages.get(path);
      if (page == null) {
        respond(
            exchange,
            404,
            "unknown path; the paths are /ready, /health, "
                + String.join(", ", pages.keySet())
                + "\n");
      } else if (!page.allowed().contains(exchange.getRequestMethod())) {
        String allowed = String.join(", ", page.allowed());
        exchange.getResponseHeaders().set("Allow", allowed);
        respond(exchange, 405, "allowed: " + allowed + "\n");
      } else {
        answer(exchange, page);
      }
    }
  }

  /** Answers 200 if {@code wrong} is null, otherwise 503 with that reason. */
  private static void state(HttpExchange exchange, String wrong, String good) throws IOException {
    respond(exchange, wrong == null ? 200 : 503, (wrong == null ? good : wrong) + "\n");
  }

  private static void answer(HttpExchange exchange, Page page) throws IOException {
    String text;
    try {
      text = page.text().get();
    } catch (StoppingException | ReadOnlyException | OverloadedException e) {
      respond(exchange, 503, e.getMessage() + "\n");
      return;
    } catch (RuntimeException e) {
      log.error("{} failed", exchange.getRequestURI(), e);
      respond(exchange, 500, e + "\n");
      return;
    }
    exchange.getResponseHeaders().set("Content-Type", page.contentType());
    respond(exchange, 200, text);
  }

  private static void respond(HttpExchange exchange, int status, String text) throws IOException {
    byte[] body = text.getBytes(StandardCharsets.UTF_8);
    if (exchange.getRequestMethod().equals("HEAD")) {
      exchange.getResponseHeaders().set("Content-Length", Integer.toString(body.length));
      exchange.sendResponseHeaders(status, -1);
      return;
    }
    exchange.sendResponseHeaders(status, body.length);
    exchange.getResponseBody().write(body);
  }

  private static String done(Runnable action) {
    action.run();
    return "done\n";
  }

  private static String json(Map<String, Object> map) {
    try {
      return new ObjectMapper().writerWithDefaultPrettyPrinter().writeValueAsString(map) + "\n";
    } catch (JsonProcessingException e) {
      throw new IllegalStateException(e);
    }
  }

  private static ThreadFactory threadFactory() {
    AtomicInteger count = new AtomicInteger();
    return task -> {
      Thread thread = new Thread(task, "admin-" + count.getAndIncrement());
      thread.setDaemon(true);
      return thread;
    };
  }

  /** Stops at once, without waiting for requests in progress. */
  @Override
  public void close() {
    server.stop(0);
    threads.shutdown();
  }
}
