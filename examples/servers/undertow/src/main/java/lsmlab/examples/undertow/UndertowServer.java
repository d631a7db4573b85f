package lsmlab.examples.undertow;

import io.undertow.Handlers;
import io.undertow.Undertow;
import io.undertow.server.HttpServerExchange;
import io.undertow.util.Headers;
import java.nio.ByteBuffer;
import lsmlab.examples.contract.Contract;

/** Requests run on the IO thread that read them; there is one IO thread for each CPU, at least two. */
public final class UndertowServer {

  private UndertowServer() {}

  private static void send(HttpServerExchange exchange, String type, byte[] body) {
    exchange.getResponseHeaders().put(Headers.CONTENT_TYPE, type);
    exchange.getResponseSender().send(ByteBuffer.wrap(body));
  }

  private static void echo(HttpServerExchange exchange) {
    exchange.getRequestReceiver().receiveFullBytes((e, body) -> send(e, Contract.JSON, body));
  }

  public static void main(String[] arguments) {
    var routes =
        Handlers.routing()
            .get("/", exchange -> send(exchange, Contract.TEXT, Contract.BODY))
            .post("/", UndertowServer::echo);
    Contract.serve(
        arguments,
        port ->
            Undertow.builder().addHttpListener(port, "0.0.0.0").setHandler(routes).build().start());
  }
}
