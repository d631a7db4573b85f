package lsmlab.server.request;

/** How the data port reads a request line, to measure what the ways cost. Each accepts every request that is correct. */
public enum RequestParsing {
  /** The key is decoded, strictly, from the bytes of the line. Method and target are also made Strings. */
  BYTES,
  /** As {@link #BYTES}, without a String for the method and the target. */
  BARE,
  /**
   * The key is what one-nio's {@code getParameter} returns, as UTF-8. It is not strict: {@code a%4} is taken for {@code
   * a}, and of a parameter that is given twice the first one counts.
   */
  LIBRARY
}
