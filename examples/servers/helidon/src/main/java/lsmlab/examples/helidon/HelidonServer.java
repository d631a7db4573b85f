package lsmlab.examples.helidon;

import io.helidon.http.HeaderValues;
import io.helidon.webserver.WebServer;
import io.helidon.webserver.http.HttpRouting;
import io.helidon.webserver.http.ServerRequest;
import io.helidon.webserver.http.ServerResponse;
import lsmlab.examples.contract.Contract;

/** Each connection has a virtual thread of its own, which runs its requests. */
public final class HelidonServer {

  private HelidonServer() {}

  private static void get(ServerRequest request, ServerResponse response) {
    response.header(HeaderValues.CONTENT_TYPE_TEXT_PLAIN).send(Contract.BODY);
  }

  private static void post(ServerRequest request, ServerResponse response) {
    response.header(HeaderValues.CONTENT_TYPE_JSON).send(request.content().as(byte[].class));
  }

  private static void start(int port) {
    var routes = HttpRouting.builder().get("/", HelidonServer::get).post("/", HelidonServer::post);
    WebServer server = WebServer.builder().port(port).routing(routes).build().start();
    // A port that is taken is logged, not thrown.
    if (!server.isRunning()) {
      throw new IllegalStateException("Helidon did not start");
    }
  }

  public static void main(String[] arguments) {
    Contract.serve(arguments, HelidonServer::start);
  }
}
