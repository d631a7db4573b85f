package lsmlab.examples.onenio;

import java.io.IOException;
import lsmlab.examples.contract.Contract;
import one.nio.http.HttpServer;
import one.nio.http.HttpServerConfig;
import one.nio.http.HttpSession;
import one.nio.http.Request;
import one.nio.http.Response;
import one.nio.server.AcceptorConfig;

/** Requests run on the selector that read them; there is one selector for each CPU. */
public final class OneNioServer extends HttpServer {

  private OneNioServer(HttpServerConfig config) throws IOException {
    super(config);
  }

  @Override
  public void handleRequest(Request request, HttpSession session) throws IOException {
    session.sendResponse(respond(request));
  }

  private static Response respond(Request request) {
    if (request.getPath().equals("/")) {
      switch (request.getMethod()) {
        case Request.METHOD_GET -> {
          return ok(Contract.BODY, "Content-Type: " + Contract.TEXT);
        }
        case Request.METHOD_POST -> {
          return ok(request.getBody(), "Content-Type: " + Contract.JSON);
        }
        default -> {}
      }
    }
    return new Response(Response.NOT_FOUND, Response.EMPTY);
  }

  private static Response ok(byte[] body, String header) {
    Response response = Response.ok(body);
    response.addHeader(header);
    return response;
  }

  public static void main(String[] arguments) {
    Contract.serve(arguments, port -> new OneNioServer(config(port)).start());
  }

  private static HttpServerConfig config(int port) {
    AcceptorConfig acceptor = new AcceptorConfig();
    acceptor.port = port;
    HttpServerConfig config = new HttpServerConfig();
    config.acceptors = new AcceptorConfig[] {acceptor};
    return config;
  }
}
