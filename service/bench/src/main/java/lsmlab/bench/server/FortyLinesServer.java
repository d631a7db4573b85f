package lsmlab.bench.server;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import lsmlab.storage.CompactionStrategy;
import lsmlab.storage.Engine;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.engines.Engines;
import one.nio.http.HttpServer;
import one.nio.http.HttpSession;
import one.nio.http.Request;
import one.nio.http.Response;

/**
 * The peer of the variants: the storage engine behind one-nio in about 40 lines, without metrics, limits or strict decoding.
 * Requests run on the selector thread or on a ThreadPoolExecutor.
 */
public final class FortyLinesServer extends HttpServer {

  private final Engine engine;
  private final Executor executor;

  private FortyLinesServer(int port, Engine engine, Executor executor) throws IOException {
    super(NoopServer.config(port));
    this.engine = engine;
    this.executor = executor;
  }

  @Override
  public void handleRequest(Request request, HttpSession session) throws IOException {
    try {
      executor.execute(() -> respond(request, session));
    } catch (RejectedExecutionException e) {
      session.sendResponse(new Response(Response.SERVICE_UNAVAILABLE, Response.EMPTY));
    }
  }

  private void respond(Request request, HttpSession session) {
    try {
      session.sendResponse(execute(request));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private Response execute(Request request) {
    byte[] key = request.getParameter("id=").getBytes(UTF_8);
    if (request.getMethod() == Request.METHOD_PUT) {
      engine.put(key, request.getBody());
      return new Response(Response.CREATED, Response.EMPTY);
    }
    byte[] value = engine.get(key);
    return value == null
        ? new Response(Response.NOT_FOUND, Response.EMPTY)
        : new Response(Response.OK, value);
  }

  /** Arguments: port, store, {@code selector} or {@code pool}. Prints the service's "ready" line when it listens. */
  public static void main(String[] arguments) throws IOException {
    LsmOptions options =
        LsmOptions.builder(Path.of(arguments[1]))
            .flushThresholdBytes(ServerSettings.FLUSH_THRESHOLD_BYTES)
            .compaction(CompactionStrategy.OFF)
            .build();
    Executor executor =
        arguments[2].equals("selector")
            ? Runnable::run
            : new ThreadPoolExecutor(
                ServerSettings.WORKERS,
                ServerSettings.WORKERS,
                0,
                TimeUnit.SECONDS,
                new LinkedBlockingQueue<>(ServerSettings.QUEUE_CAPACITY));
    Engine engine = Engines.find("lsm").orElseThrow().factory().open(options);
    new FortyLinesServer(Integer.parseInt(arguments[0]), engine, executor).start();
    System.out.println("ready data=127.0.0.1:" + arguments[0]);
  }
}
