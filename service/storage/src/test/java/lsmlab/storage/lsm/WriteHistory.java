package lsmlab.storage.lsm;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import lsmlab.storage.Durability;
import lsmlab.storage.Engine;

/** The writes since the store was opened, and what the store may hold after a restart. */
final class WriteHistory {
  private record Entry(String key, String value, boolean acknowledged) {}

  private Map<String, String> beginning = Map.of();
  private final List<Entry> entries = new ArrayList<>();
  private Durability durability = Durability.POWER;

  /** Number of writes that a loss of power must not take. */
  private int durable;

  private boolean powerLost;
  private final int keys;

  /**
   * @param keys number of keys, from key0 on
   */
  WriteHistory(int keys) {
    this.keys = keys;
  }

  /** Begins a life with this content, which is durable. */
  void begin(Map<String, String> content, Durability newDurability) {
    beginning = content;
    entries.clear();
    durable = 0;
    durability = newDurability;
    powerLost = false;
  }

  int count() {
    return entries.size();
  }

  void add(int key, String value, boolean acknowledged) {
    entries.add(new Entry("key" + key, value, acknowledged));
  }

  void durable(int count) {
    durable = count;
  }

  void powerLost() {
    powerLost = true;
  }

  /** Checks a running store: it holds the acknowledged writes and no others. */
  void check(Engine engine) {
    Map<String, String> expected = new HashMap<>(beginning);
    entries.stream().filter(Entry::acknowledged).forEach(each -> apply(expected, each));
    assertEquals(expected, History.contents(engine, ""), "a running store");
  }

  private static void apply(Map<String, String> content, Entry write) {
    if (write.value == null) {
      content.remove(write.key);
    } else {
      content.put(write.key, write.value);
    }
  }

  /**
   * Checks a store that has just been opened: it holds what it held at some moment since it was
   * durable, and under {@code power} or without a loss of power at the last one. A write that
   * failed may be there or not.
   */
  void checkFirst(Engine engine) {
    Map<String, String> found = History.contents(engine, "");
    int earliest = powerLost && durability == Durability.PROCESS ? durable : entries.size();
    Map<String, String> sure = new HashMap<>(beginning);
    Map<String, Set<String>> unsure = new HashMap<>();
    for (int moment = 0; ; moment++) {
      if (moment >= earliest && isPossible(found, sure, unsure)) {
        return;
      }
      if (moment == entries.size()) {
        throw new AssertionError(
            "from write %d of %d on the store never held this: %s; expected %s and perhaps %s"
                .formatted(earliest, moment, marks(found), marks(sure), unsure.keySet()));
      }
      Entry write = entries.get(moment);
      if (write.acknowledged) {
        apply(sure, write);
        unsure.remove(write.key);
      } else {
        unsure.computeIfAbsent(write.key, key -> new HashSet<>()).add(String.valueOf(write.value));
      }
    }
  }

  private boolean isPossible(
      Map<String, String> found, Map<String, String> sure, Map<String, Set<String>> unsure) {
    for (int i = 0; i < keys; i++) {
      String key = "key" + i;
      String value = String.valueOf(found.get(key));
      if (!value.equals(String.valueOf(sure.get(key)))
          && !unsure.getOrDefault(key, Set.of()).contains(value)) {
        return false;
      }
    }
    return true;
  }

  private static Map<String, String> marks(Map<String, String> content) {
    Map<String, String> marks = new TreeMap<>();
    content.forEach((key, value) -> marks.put(key, value.replaceAll("x+$", "")));
    return marks;
  }
}
