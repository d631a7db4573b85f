package lsmlab.server.config;

import java.lang.reflect.RecordComponent;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import lsmlab.server.request.RequestParsing;
import lsmlab.server.variant.queue.IdleStrategy;
import lsmlab.server.variant.queue.QueuePolicy;
import lsmlab.storage.CompactionStrategy;
import lsmlab.storage.Compression;
import lsmlab.storage.Durability;
import lsmlab.storage.FlushBacklog;
import lsmlab.storage.ReadPath;

/**
 * The content of {@code service.yaml}, complete and checked: a component for each {@link Key}, which says what it means,
 * in the same order. {@code selectors} is 1 or more. {@link ConfigFile} reads it.
 */
public record ServiceConfig(
    String dataHost,
    int dataPort,
    String adminHost,
    int adminPort,
    Path dataDir,
    String engine,
    String variant,
    int selectors,
    int workers,
    int queueCapacity,
    int deadlineMs,
    QueuePolicy queuePolicy,
    IdleStrategy idle,
    int batch,
    int carriers,
    int refusalsPerSecondMax,
    RequestParsing request,
    Durability durability,
    long flushThresholdBytes,
    int flushThreads,
    int memtablesMax,
    CompactionStrategy compaction,
    int level0TablesMax,
    int fanout,
    int blockBytes,
    int bloomBitsPerKey,
    Compression compression,
    long compactionBytesPerSecondMax,
    FlushBacklog flushBacklog,
    ReadPath read,
    boolean bloom,
    int maxValueBytes,
    int maxConnections,
    boolean requestMetrics) {

  /** Makes a configuration of the values of all keys: strings, whole numbers as {@code Long}, and paths. */
  static ServiceConfig of(Map<String, Object> values) {
    RecordComponent[] components = ServiceConfig.class.getRecordComponents();
    Class<?>[] types =
        Arrays.stream(components).map(RecordComponent::getType).toArray(Class[]::new);
    Object[] arguments =
        Arrays.stream(components)
            .map(each -> converted(values.get(key(each)), each.getType()))
            .toArray();
    try {
      return ServiceConfig.class.getDeclaredConstructor(types).newInstance(arguments);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Returns the values by key, in the form in which a configuration file gives them. */
  public Map<String, Object> toMap() {
    Map<String, Object> map = new LinkedHashMap<>();
    for (RecordComponent each : ServiceConfig.class.getRecordComponents()) {
      try {
        Object value = each.getAccessor().invoke(this);
        map.put(
            key(each),
            switch (value) {
              case Enum<?> label -> Key.label(label);
              case Path path -> path.toString();
              case Boolean on -> on ? "on" : "off";
              default -> value;
            });
      } catch (ReflectiveOperationException e) {
        throw new IllegalStateException(e);
      }
    }
    return map;
  }

  private static String key(RecordComponent component) {
    return component.getName().replaceAll("([A-Z])", "_$1").toLowerCase(Locale.ROOT);
  }

  private static Object converted(Object value, Class<?> type) {
    if (type == int.class) {
      return Math.toIntExact((Long) value);
    }
    if (type == boolean.class) {
      return value.equals("on");
    }
    if (type.isEnum()) {
      return Arrays.stream(type.getEnumConstants())
          .filter(each -> Key.label((Enum<?>) each).equals(value))
          .findFirst()
          .orElseThrow();
    }
    return value;
  }
}
