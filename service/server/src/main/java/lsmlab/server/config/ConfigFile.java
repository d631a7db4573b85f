package lsmlab.server.config;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import lsmlab.server.variant.VariantSettings;
import lsmlab.server.variant.Variants;
import lsmlab.server.variant.queue.IdleStrategy;
import lsmlab.server.variant.queue.QueuePolicy;
import lsmlab.storage.CompactionStrategy;
import lsmlab.storage.Compression;
import lsmlab.storage.Durability;
import lsmlab.storage.Limits;
import lsmlab.storage.engines.Engines;

/**
 * Reads {@code service.yaml} strictly. An unknown key, a duplicate key, a value of the wrong type and a value out of
 * range are errors. The message names the file, the key and the allowed values. Nothing is guessed.
 */
public final class ConfigFile {

  private static final long MIB = 1024 * 1024;

  /**
   * The longest value may take one part in this many of the heap. The engine and the data port's memory budgets allow
   * that.
   */
  private static final long HEAP_BY_VALUE = 8;

  private final String file;
  private final Map<String, JsonNode> given = new LinkedHashMap<>();
  private final TreeSet<String> known = new TreeSet<>();

  private ConfigFile(String file) {
    this.file = file;
  }

  /**
   * Reads the configuration in a file and fills in the defaults.
   *
   * @throws ConfigException if the file cannot be read or the configuration cannot be used
   */
  public static ServiceConfig read(Path path) throws ConfigException {
    String text;
    try {
      text = Files.readString(path);
    } catch (IOException e) {
      throw new ConfigException(path + ": cannot be read: " + e);
    }
    return parse(path.toString(), text);
  }

  /**
   * Returns the configuration in {@code text}.
   *
   * @param file name of the file, for messages
   * @throws ConfigException if the configuration cannot be used
   */
  public static ServiceConfig parse(String file, String text) throws ConfigException {
    ConfigFile config = new ConfigFile(file);
    config.load(text);
    return config.build();
  }

  private void load(String text) throws ConfigException {
    YAMLMapper mapper =
        YAMLMapper.builder()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .build();
    JsonNode root;
    try {
      root = mapper.readTree(text);
    } catch (JsonProcessingException e) {
      String where = e.getLocation() == null ? "" : " (line " + e.getLocation().getLineNr() + ")";
      String what = e.getOriginalMessage().lines().findFirst().orElse("malformed");
      throw new ConfigException(file + ": not valid YAML" + where + ": " + what);
    }
    if (root.isMissingNode() || root.isNull()) {
      return;
    }
    if (!root.isObject()) {
      throw new ConfigException(file + ": must map keys to values, one `key: value` a line");
    }
    root.properties().forEach(entry -> given.put(entry.getKey(), entry.getValue()));
  }

  private ServiceConfig build() throws ConfigException {
    String variant =
        choice("variant", "sync", Variants.all().stream().map(Variants.Entry::name).toList());
    int selectors = integer("selectors", 0, 0, 256);
    ServiceConfig config =
        new ServiceConfig(
            text("data_host", "127.0.0.1"),
            integer("data_port", 8080, 0, 65_535),
            text("admin_host", "127.0.0.1"),
            integer("admin_port", 8081, 0, 65_535),
            path("data_dir"),
            choice("engine", "lsm", Engines.all().stream().map(Engines.Entry::name).toList()),
            variant,
            selectors == 0 ? Runtime.getRuntime().availableProcessors() : selectors,
            integer("workers", 8, 1, 1024),
            integer("queue_capacity", 1024, 1, 1 << 20),
            integer("deadline_ms", 1000, 1, 3_600_000),
            QueuePolicy.find(choiceOfVariant("queue_policy", variant, policies(variant)))
                .orElseThrow(),
            IdleStrategy.find(choiceOfVariant("idle", variant, idles(variant))).orElseThrow(),
            integer("batch", VariantSettings.DEFAULT_BATCH, 1, 4096),
            integer("carriers", 0, 0, 256),
            integer("refusals_per_second_max", 0, 0, 1_000_000),
            choice("durability", "process", List.of("process", "power")).equals("power")
                ? Durability.POWER
                : Durability.PROCESS,
            number("flush_threshold_bytes", 64 * MIB, 4096, 1L << 40),
            integer("flush_threads", 1, 1, 64),
            integer("memtables_max", 4, 1, 1024),
            compaction(),
            integer("level0_tables_max", 4, 1, 30),
            integer("fanout", 10, 2, 100),
            integer("block_bytes", 4096, 64, (int) (16 * MIB)),
            integer("bloom_bits_per_key", 10, 0, 64),
            choice("compression", "none", List.of("none", "lz4")).equals("lz4")
                ? Compression.LZ4
                : Compression.NONE,
            number("compaction_bytes_per_second_max", 0, 0, 1L << 40),
            maxValueBytes(),
            integer("max_connections", 16_384, 1, 1 << 20),
            onOrOff("request_metrics", true));
    for (String key : given.keySet()) {
      if (!known.contains(key)) {
        throw new ConfigException(
            file + ": " + key + ": unknown key; the keys are " + String.join(", ", known));
      }
    }
    return config;
  }

  /**
   * Returns the maximum length of a value. The heap must be able to hold such a value several times, because the engine
   * does so while it writes a table.
   */
  private int maxValueBytes() throws ConfigException {
    int bytes = integer("max_value_bytes", (int) MIB, 1, Limits.VALUE_BYTES_MAX);
    long heap = Runtime.getRuntime().maxMemory();
    if (bytes > heap / HEAP_BY_VALUE) {
      throw new ConfigException(
          "%s: max_value_bytes: %d does not fit a heap of %d bytes: set it to at most %d, or give the JVM at least -Xmx%dm"
              .formatted(
                  file,
                  bytes,
                  heap,
                  heap / HEAP_BY_VALUE,
                  Math.ceilDiv(HEAP_BY_VALUE * bytes, MIB)));
    }
    return bytes;
  }

  /**
   * Returns the compaction strategy. {@code on} and {@code true} mean the default, {@code leveled}; {@code false} means
   * {@code off}.
   */
  private CompactionStrategy compaction() throws ConfigException {
    JsonNode value = value("compaction");
    if (value != null && value.isBoolean()) {
      return value.asBoolean() ? CompactionStrategy.LEVELED : CompactionStrategy.OFF;
    }
    return switch (choice("compaction", "leveled", List.of("leveled", "tiered", "off", "on"))) {
      case "tiered" -> CompactionStrategy.TIERED;
      case "off" -> CompactionStrategy.OFF;
      default -> CompactionStrategy.LEVELED;
    };
  }

  private static List<String> policies(String variant) {
    return Variants.find(variant).orElseThrow().policies().stream()
        .map(QueuePolicy::label)
        .toList();
  }

  private static List<String> idles(String variant) {
    return Variants.find(variant).orElseThrow().idles().stream().map(IdleStrategy::label).toList();
  }

  /**
   * Returns one of the values that the variant supports; the first is the default. Refuses others, because they would
   * have no effect.
   */
  private String choiceOfVariant(String key, String variant, List<String> allowed)
      throws ConfigException {
    try {
      return choice(key, allowed.getFirst(), allowed);
    } catch (ConfigException e) {
      throw new ConfigException(e.getMessage() + " with variant " + variant);
    }
  }

  private JsonNode value(String key) {
    known.add(key);
    return given.get(key);
  }

  private String text(String key, String byDefault) throws ConfigException {
    JsonNode value = value(key);
    if (value == null) {
      return byDefault;
    }
    if (!value.isTextual() || value.asText().isBlank()) {
      throw wrong(key, value, "a non-empty string");
    }
    return value.asText();
  }

  private Path path(String key) throws ConfigException {
    JsonNode value = value(key);
    if (value == null) {
      throw new ConfigException(file + ": " + key + ": missing; set it to the store's directory");
    }
    if (!value.isTextual() || value.asText().isBlank()) {
      throw wrong(key, value, "the path of a directory");
    }
    try {
      return Path.of(value.asText());
    } catch (InvalidPathException e) {
      throw wrong(key, value, "the path of a directory");
    }
  }

  private int integer(String key, int byDefault, int min, int max) throws ConfigException {
    return Math.toIntExact(number(key, byDefault, min, max));
  }

  private long number(String key, long byDefault, long min, long max) throws ConfigException {
    JsonNode value = value(key);
    if (value == null) {
      return byDefault;
    }
    if (!value.isIntegralNumber()
        || !value.canConvertToLong()
        || value.asLong() < min
        || value.asLong() > max) {
      throw wrong(key, value, "a whole number from " + min + " to " + max);
    }
    return value.asLong();
  }

  private String choice(String key, String byDefault, List<String> allowed) throws ConfigException {
    JsonNode value = value(key);
    if (value == null) {
      return byDefault;
    }
    if (!value.isTextual() || !allowed.contains(value.asText())) {
      throw wrong(key, value, "one of " + String.join(", ", allowed));
    }
    return value.asText();
  }

  /**
   * Returns whether the key is {@code on}. Also accepts true and false, which some YAML writers write instead of {@code
   * on} and {@code off}.
   */
  private boolean onOrOff(String key, boolean byDefault) throws ConfigException {
    JsonNode value = value(key);
    if (value == null) {
      return byDefault;
    }
    if (value.isBoolean()) {
      return value.asBoolean();
    }
    if (value.isTextual() && (value.asText().equals("on") || value.asText().equals("off"))) {
      return value.asText().equals("on");
    }
    throw wrong(key, value, "on or off");
  }

  private ConfigException wrong(String key, JsonNode value, String allowed) {
    return new ConfigException(file + ": " + key + ": " + value + " is not " + allowed);
  }
}
