package lsmlab.bench.server;

import java.io.IOException;
import one.nio.http.HttpServer;
import one.nio.http.HttpServerConfig;
import one.nio.http.HttpSession;
import one.nio.http.Request;
import one.nio.http.Response;
import one.nio.server.AcceptorConfig;

/**
 * The lowest rung of the ladder: one-nio's HTTP server with a handler that does nothing but respond. PUT gets 201. GET gets
 * 200 and a value, or 404 if the value is empty, like the service on the {@code null} engine.
 */
public final class NoopServer extends HttpServer {

  private final byte[] value;

  private NoopServer(HttpServerConfig config, byte[] value) throws IOException {
    super(config);
    this.value = value;
  }

  @Override
  public void handleRequest(Request request, HttpSession session) throws IOException {
    session.sendResponse(
        request.getMethod() == Request.METHOD_PUT
            ? new Response(Response.CREATED, Response.EMPTY)
            : value.length == 0
                ? new Response(Response.NOT_FOUND, Response.EMPTY)
                : new Response(Response.OK, value));
  }

  /** A server with one selector thread that listens on loopback only. */
  static HttpServerConfig config(int port) {
    AcceptorConfig acceptor = new AcceptorConfig();
    acceptor.address = "127.0.0.1";
    acceptor.port = port;
    HttpServerConfig config = new HttpServerConfig();
    config.acceptors = new AcceptorConfig[] {acceptor};
    config.selectors = 1;
    return config;
  }

  /** Arguments: port, length of the value in bytes. Prints the service's "ready" line when it listens. */
  public static void main(String[] arguments) throws IOException {
    int port = Integer.parseInt(arguments[0]);
    new NoopServer(config(port), new byte[Integer.parseInt(arguments[1])]).start();
    System.out.println("ready data=127.0.0.1:" + port);
  }
}
