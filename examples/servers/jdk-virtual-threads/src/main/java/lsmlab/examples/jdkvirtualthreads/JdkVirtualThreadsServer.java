package lsmlab.examples.jdkvirtualthreads;

import java.util.concurrent.Executors;
import lsmlab.examples.contract.Contract;
import lsmlab.examples.jdkpool.JdkPoolServer;

/** Each request runs on a virtual thread of its own. */
public final class JdkVirtualThreadsServer {

  private JdkVirtualThreadsServer() {}

  public static void main(String[] arguments) {
    Contract.serve(
        arguments, port -> JdkPoolServer.start(port, Executors.newVirtualThreadPerTaskExecutor()));
  }
}
