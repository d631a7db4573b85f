package lsmlab.server.config;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import lsmlab.server.variant.Variants;
import lsmlab.storage.engines.Engines;

/**
 * A key of {@code service.yaml}. {@link #TABLE} is the one place where keys, defaults, ranges and help are written: the
 * parser, {@code serve --help} and {@code config --json} come from it. A new key takes one line there, and a component
 * of the same name in {@link ServiceConfig}.
 *
 * @param byDefault its value if a file does not give it: a string or a {@code Long}; null if the key is required
 * @param min smallest number that is allowed
 * @param max largest number that is allowed
 * @param choices the words that are allowed, for {@link Type#CHOICE}
 * @param engine the only engine for which it has an effect; empty for every engine
 * @param help its meaning, in one line
 */
public record Key(
    String name,
    Type type,
    Object byDefault,
    long min,
    long max,
    List<String> choices,
    String engine,
    String help) {

  /** The kinds of values. */
  public enum Type {
    TEXT,
    PATH,
    NUMBER,
    CHOICE
  }

  /** Name, default, what is allowed (a range, words, or the type), only engine, help; in the order of ServiceConfig. */
  private static final String TABLE =
      """
      data_host | 127.0.0.1 | text | | Address of the HTTP API
      data_port | 8080 | 0 to 65535 | | Port of the HTTP API; 0 takes a free one
      admin_host | 127.0.0.1 | text | | Address of the admin API
      admin_port | 8081 | 0 to 65535 | | Port of the admin API; 0 takes a free one
      data_dir | | path | | The store's directory; created if it does not exist
      engine | lsm | ENGINES | | What stores the pairs
      variant | sync | VARIANTS | | How requests reach the storage
      selectors | 0 | 0 to 256 | | Selector threads; 0 = one per CPU
      workers | 8 | 1 to 1024 | | Worker threads, for variants that have them
      queue_capacity | 1024 | 1 to 1048576 | | Requests that may wait; further ones get 503
      deadline_ms | 1000 | 1 to 3600000 | | Milliseconds that a request may wait, for variants that drop late ones
      queue_policy | reject-newest | reject-newest, drop-oldest, drop-late | | What happens when the queue is full
      idle | park | park, yield, spin | | What a worker does while its queue is empty
      batch | 16 | 1 to 4096 | | Requests that a worker takes at once, for variants that batch
      carriers | 0 | 0 to 256 | | Carrier threads of virtual threads; 0 = one per CPU
      refusals_per_second_max | 0 | 0 to 1000000 | | Refusals a second; connections pause to stay below it; 0 = no limit
      request | bytes | bytes, bare, library | | How a request line is read; bare makes no Strings, library uses one-nio's getParameter
      durability | process | process, power, none | | What an acknowledged write survives: kill -9, a loss of power, or (lsm only: no WAL) a clean stop
      flush_threshold_bytes | 67108864 | 4096 to 1099511627776 | | Size at which a memtable is sealed
      flush_threads | 1 | 1 to 64 | | Threads that write memtables to tables
      memtables_max | 4 | 1 to 1024 | | Sealed memtables that may wait for a flush before writes are held back
      compaction | leveled | leveled, tiered, off, on | lsm | How tables are merged; on = leveled, off = on demand
      level0_tables_max | 4 | 1 to 30 | lsm | Number of level-0 tables at which a compaction is due
      fanout | 10 | 2 to 100 | lsm | Size of a level as a multiple of the one above it
      block_bytes | 4096 | 64 to 16777216 | lsm | Size at which a table's block is closed
      bloom_bits_per_key | 10 | 0 to 64 | lsm | Size of a table's bloom filter; 0 = none
      compression | none | none, lz4 | lsm | Compression of the blocks of new tables
      compaction_bytes_per_second_max | 0 | 0 to 1099511627776 | lsm | Rate at which compaction writes; 0 = no limit
      flush_backlog | block | block, fail, unbounded | textbook | What a write meets if each flush thread is busy
      read | point | point, merge | textbook | Lookups search tables one by one, or merge iterators over all
      bloom | off | off, on | textbook | Whether flushes write bloom filters and lookups use them
      max_value_bytes | 1048576 | 1 to 268435456 | | Larger values get 413; at most an eighth of the heap
      max_connections | 16384 | 1 to 1048576 | | Further connections get 503 and are closed
      request_metrics | on | on, off | | Whether requests are counted and timed
      """;

  /** All keys, in the order of {@link ServiceConfig}. */
  public static final List<Key> ALL = TABLE.lines().map(Key::parse).toList();

  private static Key parse(String row) {
    String[] cells = row.split(" *\\| *", -1);
    String name = cells[0];
    String allowed = cells[2];
    String[] range = allowed.split(" to ", -1);
    if (range.length == 2) {
      long min = Long.parseLong(range[0]);
      long max = Long.parseLong(range[1]);
      Long byDefault = Long.valueOf(cells[1]);
      return new Key(name, Type.NUMBER, byDefault, min, max, List.of(), cells[3], cells[4]);
    }
    List<String> choices =
        switch (allowed) {
          case "text", "path" -> List.of();
          case "ENGINES" -> Engines.all().stream().map(Engines.Entry::name).toList();
          case "VARIANTS" -> Variants.all().stream().map(Variants.Entry::name).toList();
          default -> List.of(allowed.split(", ", -1));
        };
    Type type = choices.isEmpty() ? Type.valueOf(allowed.toUpperCase(Locale.ROOT)) : Type.CHOICE;
    String byDefault = cells[1].isEmpty() ? null : cells[1];
    return new Key(name, type, byDefault, 0, 0, choices, cells[3], cells[4]);
  }

  /** Returns the word for an enum's value in a configuration. */
  static String label(Enum<?> value) {
    return value.name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  /** Returns the key as an object of {@code config --json}. */
  public Map<String, Object> toMap() {
    Map<String, Object> map = new LinkedHashMap<>();
    map.put("name", name);
    map.put("type", label(type));
    map.put("default", byDefault);
    if (type == Type.NUMBER) {
      map.put("min", min);
      map.put("max", max);
    }
    if (type == Type.CHOICE) {
      map.put("choices", choices);
    }
    map.put("engine", engine.isEmpty() ? null : engine);
    map.put("help", help);
    return map;
  }

  /** Returns the key's line of help: {@code name: default. Meaning}. */
  public String toHelp() {
    return "%s: %s. %s%s%s"
        .formatted(
            name,
            byDefault == null ? "required" : byDefault,
            help,
            name.equals("engine") || name.equals("variant")
                ? "; `" + name + "s` lists them"
                : words(),
            engine.isEmpty() ? "" : " (engine " + engine + ")");
  }

  private String words() {
    return choices.isEmpty() ? "" : ": " + String.join(", ", choices);
  }
}
