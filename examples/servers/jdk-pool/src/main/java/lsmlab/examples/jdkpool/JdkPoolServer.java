package lsmlab.examples.jdkpool;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import lsmlab.examples.contract.Contract;

/** Requests run on a pool of 200 threads, as many as Tomcat and Jetty have. */
public final class JdkPoolServer {

  private JdkPoolServer() {}

  /** Starts the JDK's server, which executes requests with {@code executor}. */
  public static void start(int port, Executor executor) throws IOException {
    HttpServer server = HttpServer.create(new InetSocketAddress(port), 0);
    server.createContext("/", JdkPoolServer::respond);
    server.setExecutor(executor);
    server.start();
  }

  private static void respond(HttpExchange exchange) throws IOException {
    try (exchange) {
      boolean root = exchange.getRequestURI().getPath().equals("/");
      if (root && exchange.getRequestMethod().equals("GET")) {
        send(exchange, Contract.TEXT, Contract.BODY);
      } else if (root && exchange.getRequestMethod().equals("POST")) {
        send(exchange, Contract.JSON, exchange.getRequestBody().readAllBytes());
      } else {
        exchange.sendResponseHeaders(404, -1);
      }
    }
  }

  private static void send(HttpExchange exchange, String type, byte[] body) throws IOException {
    exchange.getResponseHeaders().set("Content-Type", type);
    exchange.sendResponseHeaders(200, body.length);
    exchange.getResponseBody().write(body);
  }

  public static void main(String[] arguments) {
    Contract.serve(arguments, port -> start(port, Executors.newFixedThreadPool(200)));
  }
}
