package lsmlab.bench.server;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A server that can be started and measured.
 *
 * @param name its name in tables
 * @param kind the program to start
 * @param keys keys and values of service.yaml for {@link Kind#SERVICE}; empty for the other kinds
 * @param javaSockets whether one-nio must use Java's sockets instead of its native transport
 */
record Contestant(String name, Kind kind, Map<String, String> keys, boolean javaSockets) {

  /** The program that runs as the server. */
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

  /** The rungs, bottom first, then the peers. All but {@link #WITH_POOL} run requests on the selector thread. */
  static final List<String> LADDER =
      List.of(NOOP, NULL, NOOP_WITH_VALUE, MEMORY, LSM, ON_SELECTOR, WITH_POOL);

  /** The variants that run requests on the selector thread; all others hand them to another thread. */
  private static final Set<String> ON_SELECTOR_VARIANTS = Set.of("sync", "per-core");

  /** Suffix of the name of a server that uses Java's sockets on a machine with the native transport. */
  static final String JAVA_SOCKETS = ", Java's sockets";

  /** The 40-line server that runs requests on the same kind of thread as this variant: selector or pool. */
  static String peerOf(String variant) {
    return ON_SELECTOR_VARIANTS.contains(variant) ? ON_SELECTOR : WITH_POOL;
  }

  /** The contestant with this name: one of {@link #LADDER}, or else the variant of this name on the {@code lsm} engine. */
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

  /** The same contestant with these keys of service.yaml added or replaced. */
  Contestant with(Map<String, String> others) {
    Map<String, String> all = new LinkedHashMap<>(keys);
    all.putAll(others);
    return new Contestant(name, kind, all, javaSockets);
  }

  /** Whether a GET of a key in the dataset gets a value; otherwise it gets 404. */
  boolean hasValues() {
    return kind != Kind.NOOP && !name.startsWith(NULL);
  }

  /** Whether the server reads the dataset. */
  boolean isLoaded() {
    return hasValues() && kind != Kind.NOOP_WITH_VALUE;
  }

  /** All contestants of a ladder: rungs, peers, and the variants except {@code sync}, which {@link #LSM} measures. */
  static List<String> all(List<String> variants, boolean nativeTransport) {
    List<String> names = new ArrayList<>(LADDER);
    variants.stream().filter(variant -> !variant.equals("sync")).forEach(names::add);
    if (nativeTransport) {
      LADDER.forEach(name -> names.add(name + JAVA_SOCKETS));
    }
    return names;
  }
}
