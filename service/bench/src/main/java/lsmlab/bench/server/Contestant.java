package lsmlab.bench.server;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A server that can be started and measured.
 *
 * @param name in tables
 * @param kind what is started
 * @param keys what service.yaml says, for {@link Kind#SERVICE}; else empty
 * @param javaSockets whether one-nio's native transport is forbidden
 */
record Contestant(String name, Kind kind, Map<String, String> keys, boolean javaSockets) {

  /** What can be started. */
  enum Kind {
    NOOP,
    NOOP_WITH_VALUE,
    FORTY_LINES_ON_SELECTOR,
    FORTY_LINES_WITH_POOL,
    SERVICE
  }

  static final String NOOP = "no-op";
  static final String NOOP_WITH_VALUE = "no-op with a value";
  static final String NULL = "`null`";
  static final String MEMORY = "`memory`";
  static final String LSM = "`lsm`";
  static final String ON_SELECTOR = "40 lines, selector";
  static final String WITH_POOL = "40 lines, pool";

  /** The rungs and the peers, from the bottom up: all run requests on the selector, save {@link #WITH_POOL}. */
  static final List<String> LADDER =
      List.of(NOOP, NULL, NOOP_WITH_VALUE, MEMORY, LSM, ON_SELECTOR, WITH_POOL);

  /** The variants that run requests on the selector thread; all others hand them to another thread. */
  private static final Set<String> ON_SELECTOR_VARIANTS = Set.of("sync", "per-core");

  /** Marks names of servers whose native transport is forbidden though there is one. */
  static final String JAVA_SOCKETS = ", Java's sockets";

  /** The 40 lines with the hand-off of this variant. */
  static String peerOf(String variant) {
    return ON_SELECTOR_VARIANTS.contains(variant) ? ON_SELECTOR : WITH_POOL;
  }

  /** The contestant of this name: one of {@link #LADDER}, or the variant on {@code lsm}. */
  static Contestant named(String name) {
    boolean javaSockets = name.endsWith(JAVA_SOCKETS);
    String base = javaSockets ? name.substring(0, name.length() - JAVA_SOCKETS.length()) : name;
    return switch (base) {
      case NOOP -> new Contestant(name, Kind.NOOP, Map.of(), javaSockets);
      case NOOP_WITH_VALUE -> new Contestant(name, Kind.NOOP_WITH_VALUE, Map.of(), javaSockets);
      case ON_SELECTOR -> new Contestant(name, Kind.FORTY_LINES_ON_SELECTOR, Map.of(), javaSockets);
      case WITH_POOL -> new Contestant(name, Kind.FORTY_LINES_WITH_POOL, Map.of(), javaSockets);
      case NULL, MEMORY, LSM -> {
        String engine = base.substring(1, base.length() - 1);
        yield new Contestant(name, Kind.SERVICE, keys("sync", engine), javaSockets);
      }
      default -> new Contestant(name, Kind.SERVICE, keys(base, "lsm"), javaSockets);
    };
  }

  private static Map<String, String> keys(String variant, String engine) {
    Map<String, String> keys = new LinkedHashMap<>();
    keys.put("variant", variant);
    keys.put("engine", "\"" + engine + "\""); // null is a word of YAML
    keys.put("workers", Integer.toString(ServerSettings.WORKERS));
    keys.put("queue_capacity", Integer.toString(ServerSettings.QUEUE_CAPACITY));
    keys.put("flush_threshold_bytes", Integer.toString(ServerSettings.FLUSH_THRESHOLD_BYTES));
    keys.put("compaction", "off");
    return keys;
  }

  /** The same service with other values of some keys. */
  Contestant with(Map<String, String> others) {
    Map<String, String> all = new LinkedHashMap<>(keys);
    all.putAll(others);
    return new Contestant(name, kind, all, javaSockets);
  }

  /** Whether a GET is answered with a value. */
  boolean hasValues() {
    return kind != Kind.NOOP && !name.startsWith(NULL);
  }

  /** Whether it needs the dataset. */
  boolean isLoaded() {
    return hasValues() && kind != Kind.NOOP_WITH_VALUE;
  }

  /** All contestants of a ladder: rungs and peers, then the variants save {@code sync}, which is {@link #LSM}. */
  static List<String> all(List<String> variants, boolean nativeTransport) {
    List<String> names = new ArrayList<>(LADDER);
    variants.stream().filter(variant -> !variant.equals("sync")).forEach(names::add);
    if (nativeTransport) {
      LADDER.forEach(name -> names.add(name + JAVA_SOCKETS));
    }
    return names;
  }
}
