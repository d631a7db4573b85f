package lsmlab.examples.contract;

import static java.nio.charset.StandardCharsets.US_ASCII;

/** What all servers have in common: the response to GET, the port, and the line that tells that requests can come. */
public final class Contract {

  /** The body of the response to {@code GET /}: 100 bytes of text. */
  public static final byte[] BODY = "0123456789".repeat(10).getBytes(US_ASCII);

  /** The content type of {@link #BODY}. */
  public static final String TEXT = "text/plain";

  /** The content type of {@code POST /}, both ways. */
  public static final String JSON = "application/json";

  /** The largest body of {@code POST /} that a server must accept, in bytes, for servers that want to know. */
  public static final int MAX_BODY_BYTES = 64 * 1024;

  private static final String DEFAULT_PORT = "8080";

  private Contract() {}

  /** Starts a server. */
  @FunctionalInterface
  public interface Starter {

    /** Listens on {@code port} of all addresses and returns; threads that are not daemons keep the JVM alive. */
    void start(int port) throws Exception;
  }

  /**
   * Starts a server on the port that the first argument names, otherwise the environment variable {@code PORT}, otherwise
   * 8080, and prints "ready on port N". If it cannot listen, ends the JVM with exit code 1; if the port is no port, with 2.
   */
  public static void serve(String[] arguments, Starter starter) {
    String given =
        arguments.length > 0 ? arguments[0] : System.getenv().getOrDefault("PORT", DEFAULT_PORT);
    int port = given.matches("[0-9]{1,5}") ? Integer.parseInt(given) : 0;
    if (port < 1 || port > 65535) {
      System.err.println("the port (first argument, or PORT) must be 1 to 65535: " + given);
      System.exit(2);
    }
    try {
      starter.start(port);
    } catch (Exception e) {
      System.err.println("cannot listen on port " + port + ": " + e);
      System.exit(1);
    }
    System.out.println("ready on port " + port);
  }
}
