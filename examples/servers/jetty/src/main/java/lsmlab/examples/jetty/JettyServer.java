package lsmlab.examples.jetty;

import java.nio.ByteBuffer;
import lsmlab.examples.contract.Contract;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.util.Callback;

/** Requests run on Jetty's pool of at most 200 threads; a handler may block. */
public final class JettyServer extends Handler.Abstract {

  @Override
  public boolean handle(Request request, Response response, Callback callback) throws Exception {
    boolean root = Request.getPathInContext(request).equals("/");
    if (root && request.getMethod().equals("GET")) {
      send(response, Contract.TEXT, ByteBuffer.wrap(Contract.BODY), callback);
      return true;
    }
    if (root && request.getMethod().equals("POST")) {
      send(response, Contract.JSON, Content.Source.asByteBuffer(request), callback);
      return true;
    }
    return false;
  }

  private static void send(Response response, String type, ByteBuffer body, Callback callback) {
    response.getHeaders().put(HttpHeader.CONTENT_TYPE, type);
    response.write(true, body, callback);
  }

  public static void main(String[] arguments) {
    Contract.serve(
        arguments,
        port -> {
          Server server = new Server(port);
          server.setHandler(new JettyServer());
          server.start();
        });
  }
}
