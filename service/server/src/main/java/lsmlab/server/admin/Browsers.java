package lsmlab.server.admin;

import com.sun.net.httpserver.Headers;
import java.util.Locale;
import java.util.regex.Pattern;

/**
 * Keeps web pages that are open in a browser away from the admin port.
 *
 * <p>A page reaches a local port in two ways. A form or script of another site sends its {@code Origin}. A page whose
 * own host name is made to resolve to this machine (DNS rebinding) sends that name as {@code Host}. So all names are
 * refused, except those that no public site can have.
 */
final class Browsers {

  private static final Pattern ADDRESS =
      Pattern.compile("[0-9]+\\.[0-9]+\\.[0-9]+\\.[0-9]+|\\[[0-9a-f:.%]+]");

  private Browsers() {}

  /**
   * Returns the reason for refusing a request, or null if it is allowed.
   *
   * @param configured the host that is configured for the port
   */
  static String refusal(Headers headers, String configured) {
    String host = headers.getFirst("Host");
    String origin = headers.getFirst("Origin");
    if (host != null && !isOwn(name(host), configured)) {
      return "host " + host + " is not allowed: use an address, or a name without a dot";
    }
    if (origin != null && (host == null || !origin.equalsIgnoreCase("http://" + host))) {
      return "a page of " + origin + " may not use this port";
    }
    return null;
  }

  private static boolean isOwn(String name, String configured) {
    return name.indexOf('.') < 0 && !name.startsWith("[")
        || ADDRESS.matcher(name).matches()
        || name.equals(configured.toLowerCase(Locale.ROOT))
        || name.endsWith(".localhost");
  }

  /** Returns the host without its port, in lower case. */
  private static String name(String host) {
    String lower = host.toLowerCase(Locale.ROOT);
    int colon = lower.lastIndexOf(':');
    return colon > lower.lastIndexOf(']') ? lower.substring(0, colon) : lower;
  }
}
