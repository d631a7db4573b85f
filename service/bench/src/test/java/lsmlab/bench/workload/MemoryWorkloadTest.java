package lsmlab.bench.workload;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import lsmlab.bench.Pairs;
import lsmlab.bench.Settings;
import lsmlab.storage.Engine;
import org.junit.jupiter.api.Test;

class MemoryWorkloadTest {

  private static final int PAIRS = 100_000;

  @Test
  void noIntervalRepeatsTheKeysOfAnEarlierOne() throws InterruptedException {
    Pairs pairs = new Pairs(PAIRS, 20, 1);
    Map<Thread, String> firstKeys = new ConcurrentHashMap<>();
    AtomicLong gets = new AtomicLong();
    Engine engine =
        (Engine)
            Proxy.newProxyInstance(
                Engine.class.getClassLoader(),
                new Class<?>[] {Engine.class},
                (proxy, method, arguments) -> {
                  assertEquals("get", method.getName());
                  String key = new String((byte[]) arguments[0], US_ASCII);
                  firstKeys.putIfAbsent(Thread.currentThread(), key);
                  gets.incrementAndGet();
                  int number = Integer.parseInt(key.substring(1));
                  int offset = pairs.valueOffset(number, 0);
                  int length = pairs.valueLength(number, 0);
                  return Arrays.copyOfRange(pairs.pool(), offset, offset + length);
                });
    Settings settings = new Settings(PAIRS, 20, 1, 1, 1, 1, 1, 1, Path.of("unused"));

    Map<String, Double> figures =
        new MemoryWorkload().measure(new Context("unused", settings, pairs), engine);

    assertTrue(firstKeys.size() >= 8 + 1 + 8, "threads: " + firstKeys.size());
    assertEquals(firstKeys.size(), new HashSet<>(firstKeys.values()).size());
    assertTrue(figures.get("get_memory_8t") > 0);
    assertTrue(gets.get() > PAIRS / 16);
  }
}
