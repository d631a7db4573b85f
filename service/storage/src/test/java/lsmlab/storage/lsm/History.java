package lsmlab.storage.lsm;

import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.random.RandomGenerator;
import lsmlab.storage.CompactionStrategy;
import lsmlab.storage.Compression;
import lsmlab.storage.Durability;
import lsmlab.storage.Engine;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.Scan;
import lsmlab.storage.WriteBatch;

/** Random operations on an engine, and its expected content after each of them. */
final class History {

  private static final int KEYS = 40;

  /**
   * Content of the store after write i of this history; element 0 is the content before the first
   * write.
   */
  private final List<NavigableMap<String, String>> states = new ArrayList<>();

  /**
   * The oldest state that a restart may show, because everything up to it is durable with either
   * durability.
   */
  private int durableFrom;

  /** Number of states at the end whose writes were not acknowledged. */
  private int pending;

  private int value;
  private final WriteBatch batch = new WriteBatch();

  History(NavigableMap<String, String> beginning) {
    states.add(beginning);
  }

  NavigableMap<String, String> last() {
    return states.get(states.size() - 1);
  }

  /** Executes one random operation. Checks the result of a read. */
  void step(Engine engine, RandomGenerator random) {
    switch (random.nextInt(20)) {
      case 0 -> {
        int before = states.size() - 1;
        engine.flush();
        durableFrom = before;
      }
      case 1 -> engine.compact();
      case 2, 3 -> check(last(), contents(engine, ""));
      case 4, 5 -> {
        String key = key(random);
        byte[] found = engine.get(key.getBytes(StandardCharsets.UTF_8));
        String expected = last().get(key);
        String actual = found == null ? null : new String(found, StandardCharsets.UTF_8);
        if (!java.util.Objects.equals(expected, actual)) {
          throw new AssertionError("get " + key + ": " + actual + " instead of " + expected);
        }
      }
      case 6, 7, 8 -> write(engine, key(random), null);
      case 9, 10, 11 -> stepTogether(engine, random);
      default -> write(engine, key(random), value(random));
    }
  }

  /** Commits a batch of a few random writes. */
  void stepTogether(Engine engine, RandomGenerator random) {
    batch.clear();
    for (int i = random.nextInt(1, 9); i > 0; i--) {
      String newValue = random.nextInt(4) == 0 ? null : value(random);
      byte[] key = note(key(random), newValue);
      if (newValue == null) {
        batch.delete(key, 0, key.length);
      } else {
        byte[] bytes = newValue.getBytes(StandardCharsets.UTF_8);
        batch.put(key, 0, key.length, bytes, 0, bytes.length);
      }
    }
    engine.write(batch);
    RuntimeException failure = null;
    for (int i = 0; i < batch.size(); i++) {
      if (batch.failure(i) instanceof RuntimeException e) {
        failure = e;
      } else if (failure == null) {
        pending--;
      } else {
        throw new AssertionError("write " + i + " was acknowledged and one before it was not");
      }
    }
    if (failure != null) {
      throw failure;
    }
  }

  private void write(Engine engine, String key, String newValue) {
    byte[] keyBytes = note(key, newValue);
    if (newValue == null) {
      engine.delete(keyBytes);
    } else {
      engine.put(keyBytes, newValue.getBytes(StandardCharsets.UTF_8));
    }
    pending--;
  }

  /** Notes the content of the store after another write; a null value removes the key. */
  private byte[] note(String key, String newValue) {
    NavigableMap<String, String> next = new TreeMap<>(last());
    if (newValue == null) {
      next.remove(key);
    } else {
      next.put(key, newValue);
    }
    states.add(next);
    pending++;
    return key.getBytes(StandardCharsets.UTF_8);
  }

  private static String key(RandomGenerator random) {
    int number = random.nextInt(KEYS);
    return "key" + number + "-".repeat(number % 11);
  }

  private String value(RandomGenerator random) {
    int length = random.nextInt(30) == 0 ? random.nextInt(6_000) : random.nextInt(200);
    String mark = "v" + value++;
    return mark + "x".repeat(length);
  }

  /** Notes that everything written so far is durable, with either durability. */
  void allDurable() {
    durableFrom = states.size() - 1;
  }

  /**
   * Checks the store after a restart that must keep every acknowledged write. The first writes that
   * were not acknowledged may be there too.
   */
  void checkNothingLost(Engine engine) {
    NavigableMap<String, String> found = contents(engine, "");
    List<NavigableMap<String, String>> possible =
        states.subList(states.size() - 1 - pending, states.size());
    if (!possible.contains(found)) {
      check(possible.getFirst(), found);
    }
  }

  /**
   * Checks the store after a restart that may have lost only the latest writes: it holds the state
   * of one moment, and none that is older than allowed.
   */
  void checkIsOneMoment(Engine engine) {
    NavigableMap<String, String> found = contents(engine, "");
    for (int i = states.size() - 1; i >= durableFrom; i--) {
      if (states.get(i).equals(found)) {
        return;
      }
    }
    throw new AssertionError(
        "the store holds what it never held since it was durable: " + summary(found));
  }

  static NavigableMap<String, String> contents(Engine engine, String from) {
    NavigableMap<String, String> found = new TreeMap<>();
    byte[] previous = null;
    try (Scan scan = engine.scan(from.getBytes(StandardCharsets.UTF_8), null)) {
      while (scan.next()) {
        byte[] key = scan.key().toArray(ValueLayout.JAVA_BYTE);
        if (previous != null && Arrays.compareUnsigned(previous, key) >= 0) {
          throw new AssertionError("a scan went back");
        }
        previous = key;
        found.put(
            new String(key, StandardCharsets.UTF_8),
            new String(scan.value().toArray(ValueLayout.JAVA_BYTE), StandardCharsets.UTF_8));
      }
    }
    return found;
  }

  private static void check(Map<String, String> expected, Map<String, String> found) {
    if (!expected.equals(found)) {
      throw new AssertionError("expected " + summary(expected) + "\nfound    " + summary(found));
    }
  }

  private static String summary(Map<String, String> state) {
    StringBuilder text = new StringBuilder();
    state.forEach((key, value) -> text.append(key).append('=').append(mark(value)).append(' '));
    return text.toString();
  }

  private static String mark(String value) {
    int end = value.indexOf('x');
    return end < 0 ? value : value.substring(0, end) + "x" + (value.length() - end);
  }

  /** Returns options with which a few hundred writes use every mechanism of the engine. */
  static LsmOptions tinyOptions(RandomGenerator random, Durability durability) {
    return LsmOptions.builder(java.nio.file.Path.of("unused"))
        .durability(durability)
        .flushThresholdBytes(random.nextInt(500, 12_000))
        .flushThreads(random.nextInt(1, 4))
        .memtablesMax(random.nextInt(1, 5))
        .compaction(CompactionStrategy.values()[random.nextInt(3)])
        .level0TablesMax(random.nextInt(1, 6))
        .fanout(random.nextInt(2, 12))
        .blockBytes(random.nextInt(64, 1_500))
        .bloomBitsPerKey(random.nextInt(0, 14))
        .compression(Compression.values()[random.nextInt(2)])
        .tableBytes(random.nextInt(1_024, 8_000))
        .stallMillisMax(60_000)
        .build();
  }
}
