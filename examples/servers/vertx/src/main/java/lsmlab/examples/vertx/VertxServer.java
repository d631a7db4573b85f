package lsmlab.examples.vertx;

import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import lsmlab.examples.contract.Contract;

/** Requests run on the event loop that read them; there is one verticle for each CPU, each with an event loop. */
public final class VertxServer extends VerticleBase {

  private final int port;

  private VertxServer(int port) {
    this.port = port;
  }

  @Override
  public Future<?> start() {
    return vertx.createHttpServer().requestHandler(VertxServer::respond).listen(port);
  }

  private static void respond(HttpServerRequest request) {
    boolean root = request.path().equals("/");
    if (root && request.method().equals(HttpMethod.GET)) {
      send(request, Contract.TEXT, Buffer.buffer(Contract.BODY));
    } else if (root && request.method().equals(HttpMethod.POST)) {
      request.body().onSuccess(body -> send(request, Contract.JSON, body));
    } else {
      request.response().setStatusCode(404).end();
    }
  }

  private static void send(HttpServerRequest request, String type, Buffer body) {
    request.response().putHeader(HttpHeaders.CONTENT_TYPE, type).end(body);
  }

  public static void main(String[] arguments) {
    var options = new DeploymentOptions().setInstances(Runtime.getRuntime().availableProcessors());
    Contract.serve(
        arguments,
        port -> Vertx.vertx().deployVerticle(() -> new VertxServer(port), options).await());
  }
}
