package lsmlab.bench.storage;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import lsmlab.storage.Engine;
import org.junit.jupiter.api.Test;

class ReadWorkloadsTest {

  private static final int PAIRS = 100_000;

  private final Pairs pairs = new Pairs(PAIRS, 20, 1);
  private final Settings settings = new Settings(PAIRS, 20, 1, 1, 1, 1, 1, Path.of("unused"));

  /** Returns an engine that answers each GET with its pair's value in this version. */
  private Engine engine(Map<Thread, String> firstKeys, AtomicLong gets, int version) {
    return (Engine)
        Proxy.newProxyInstance(
            Engine.class.getClassLoader(),
            new Class<?>[] {Engine.class},
            (proxy, method, arguments) -> {
              assertEquals("get", method.getName());
              String key = new String((byte[]) arguments[0], US_ASCII);
              firstKeys.putIfAbsent(Thread.currentThread(), key);
              gets.incrementAndGet();
              int number = Integer.parseInt(key.substring(1));
              int offset = pairs.valueOffset(number, version);
              int length = pairs.valueLength(number, 0);
              return Arrays.copyOfRange(pairs.pool(), offset, offset + length);
            });
  }

  @Test
  void noIntervalOfTheMemoryWorkloadRepeatsTheKeysOfAnEarlierOne() throws InterruptedException {
    Map<Thread, String> firstKeys = new ConcurrentHashMap<>();
    AtomicLong gets = new AtomicLong();
    Map<String, Double> figures =
        ReadWorkloads.memory(new Context("unused", settings, pairs), engine(firstKeys, gets, 0));
    assertTrue(firstKeys.size() >= 8 + 1 + 8, "threads: " + firstKeys.size());
    assertEquals(firstKeys.size(), new HashSet<>(firstKeys.values()).size());
    assertTrue(figures.get("get_memory_8t") > 0);
    assertTrue(gets.get() > PAIRS / 16);
  }

  @Test
  void aWrongValueFailsTheWarmUp() {
    Engine wrong = engine(new ConcurrentHashMap<>(), new AtomicLong(), 1);
    IllegalStateException failed =
        assertThrows(
            IllegalStateException.class,
            () -> ReadWorkloads.getPresent(wrong, pairs, bits -> 7, true).run(0));
    assertEquals("wrong value of k000000007", failed.getMessage());
  }
}
