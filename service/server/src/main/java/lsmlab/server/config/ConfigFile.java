package lsmlab.server.config;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.exc.MismatchedInputException;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import lsmlab.server.variant.Variants;

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
      String what =
          e instanceof MismatchedInputException
              ? "only one document is allowed"
              : e.getOriginalMessage().lines().findFirst().orElse("malformed");
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
    Map<String, Object> values = new HashMap<>();
    for (Key key : Key.ALL) {
      JsonNode value = given.remove(key.name());
      values.put(key.name(), value == null ? byDefault(key) : read(key, value, values));
    }
    if (!given.isEmpty()) {
      throw new ConfigException(
          "%s: %s: unknown key; the keys are %s"
              .formatted(
                  file,
                  given.keySet().iterator().next(),
                  Key.ALL.stream().map(Key::name).sorted().collect(Collectors.joining(", "))));
    }
    values.merge("selectors", 0L, (set, zero) -> set.equals(zero) ? cpus() : set);
    values.merge("compaction", "on", (set, on) -> set.equals(on) ? "leveled" : set);
    checkHeap((Long) values.get("max_value_bytes"));
    return ServiceConfig.of(values);
  }

  private static long cpus() {
    return Runtime.getRuntime().availableProcessors();
  }

  /**
   * Checks that the heap can hold the longest value several times, because the engine does so while it writes a table.
   */
  private void checkHeap(long bytes) throws ConfigException {
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
  }

  private Object byDefault(Key key) throws ConfigException {
    if (key.byDefault() == null) {
      throw new ConfigException(
          file + ": " + key.name() + ": missing; set it to the store's directory");
    }
    return key.byDefault();
  }

  /** Returns the value of a key in the form that {@link ServiceConfig#of} takes. */
  private Object read(Key key, JsonNode value, Map<String, Object> before) throws ConfigException {
    return switch (key.type()) {
      case TEXT -> text(key, value, "a non-empty string");
      case PATH -> {
        String expected = "the path of a directory";
        try {
          yield Path.of(text(key, value, expected));
        } catch (InvalidPathException e) {
          throw wrong(key, value, expected);
        }
      }
      case NUMBER -> {
        if (!value.isIntegralNumber()
            || !value.canConvertToLong()
            || value.asLong() < key.min()
            || value.asLong() > key.max()) {
          throw wrong(key, value, "a whole number from " + key.min() + " to " + key.max());
        }
        yield value.asLong();
      }
      case CHOICE -> choice(key, value, before);
    };
  }

  private String text(Key key, JsonNode value, String expected) throws ConfigException {
    if (!value.isTextual() || value.asText().isBlank()) {
      throw wrong(key, value, expected);
    }
    return value.asText();
  }

  /**
   * Returns the word. Also takes true and false for {@code on} and {@code off}, because some YAML writers write these.
   * Refuses a word that has no effect with the variant or the engine.
   */
  private String choice(Key key, JsonNode value, Map<String, Object> before)
      throws ConfigException {
    String variant = (String) before.get("variant");
    Object engine = before.get("engine");
    String word = value.asText();
    if (value.isBoolean() && key.choices().contains("on")) {
      word = value.asBoolean() ? "on" : "off";
    } else if (!value.isTextual()) {
      word = null;
    }
    List<String> supported =
        switch (key.name()) {
          case "queue_policy" -> labels(Variants.find(variant).orElseThrow().policies());
          case "idle" -> labels(Variants.find(variant).orElseThrow().idles());
          case "durability" -> engine.equals("lsm") ? key.choices() : List.of("process", "power");
          default -> key.choices();
        };
    if (word == null || !supported.contains(word)) {
      String with =
          supported == key.choices()
              ? ""
              : key.name().equals("durability")
                  ? " with engine " + engine
                  : " with variant " + variant;
      throw wrong(key, value, "one of " + String.join(", ", supported) + with);
    }
    return word;
  }

  private static List<String> labels(List<? extends Enum<?>> values) {
    return values.stream().map(Key::label).toList();
  }

  private ConfigException wrong(Key key, JsonNode value, String allowed) {
    return new ConfigException(file + ": " + key.name() + ": " + value + " is not " + allowed);
  }
}
