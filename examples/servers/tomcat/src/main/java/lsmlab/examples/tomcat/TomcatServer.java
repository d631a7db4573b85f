package lsmlab.examples.tomcat;

import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.file.Files;
import lsmlab.examples.contract.Contract;
import org.apache.catalina.startup.Tomcat;

/** Requests run on Tomcat's pool of at most 200 threads. */
public final class TomcatServer extends HttpServlet {

  @Override
  protected void doGet(HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    send(response, Contract.TEXT, Contract.BODY);
  }

  @Override
  protected void doPost(HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    send(response, Contract.JSON, request.getInputStream().readAllBytes());
  }

  private static void send(HttpServletResponse response, String type, byte[] body)
      throws IOException {
    response.setContentType(type);
    response.setContentLength(body.length);
    response.getOutputStream().write(body);
  }

  private static void start(int port) throws Exception {
    Tomcat tomcat = new Tomcat();
    tomcat.setBaseDir(Files.createTempDirectory("tomcat").toString());
    tomcat.setPort(port);
    tomcat.getConnector().setThrowOnFailure(true);
    tomcat.getConnector().setProperty("maxKeepAliveRequests", "-1");
    var context = tomcat.addContext("", null);
    Tomcat.addServlet(context, "root", new TomcatServer());
    context.addServletMapping("", "root");
    tomcat.start();
  }

  public static void main(String[] arguments) {
    Contract.serve(arguments, TomcatServer::start);
  }
}
