package lsmlab.bench.server;

import java.io.IOException;
import one.nio.http.HttpServer;
import one.nio.http.HttpServerConfig;
import one.nio.http.HttpSession;
import one.nio.http.Request;
import one.nio.http.Response;
import one.nio.server.AcceptorConfig;

/**
 * one-nio's own HTTP server with a handler that does nothing: what a service built on it can reach at most. A GET is
 * answered 200 with so many bytes as the second argument says, a PUT 201.
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
            : new Response(Response.OK, value));
  }

  /** Arguments: port, bytes of a GET's reply. Prints the line that the service prints when it is ready. */
  public static void main(String[] arguments) throws IOException {
    AcceptorConfig acceptor = new AcceptorConfig();
    acceptor.address = "127.0.0.1";
    acceptor.port = Integer.parseInt(arguments[0]);
    HttpServerConfig config = new HttpServerConfig();
    config.acceptors = new AcceptorConfig[] {acceptor};
    config.selectors = 1;
    new NoopServer(config, new byte[Integer.parseInt(arguments[1])]).start();
    System.out.println("ready data=127.0.0.1:" + acceptor.port);
  }
}
