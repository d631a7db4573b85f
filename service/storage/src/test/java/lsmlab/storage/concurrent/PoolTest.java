package lsmlab.storage.concurrent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class PoolTest {

  private static final class Item {
    final AtomicInteger users = new AtomicInteger();
  }

  @Test
  void returnedObjectsAreLentAgainButNotTwiceAtOnce() {
    Pool<Item> pool = new Pool<>(Item::new);
    Item first = pool.take();
    Item second = pool.take();
    assertNotSame(first, second);
    pool.give(first);
    assertSame(first, pool.take());
  }

  @Test
  void thousandsOfVirtualThreadsNeedFewObjectsAndNeverShareOne() throws Exception {
    AtomicInteger made = new AtomicInteger();
    Pool<Item> pool =
        new Pool<>(
            () -> {
              made.incrementAndGet();
              return new Item();
            });
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<Integer>> shared = new ArrayList<>();
      for (int i = 0; i < 10_000; i++) {
        shared.add(
            threads.submit(
                () -> {
                  Item item = pool.take();
                  int others = item.users.getAndIncrement();
                  item.users.decrementAndGet();
                  pool.give(item);
                  return others;
                }));
      }
      for (Future<Integer> each : shared) {
        assertEquals(0, each.get());
      }
    }
    assertTrue(made.get() < 1_000, made + " were made for 10000 threads");
  }

  @Test
  void moreObjectsThanAreKeptCanBeLentAtOnce() {
    Pool<Item> pool = new Pool<>(Item::new);
    List<Item> lent = new ArrayList<>();
    for (int i = 0; i < 1_000; i++) {
      lent.add(pool.take());
    }
    assertEquals(1_000, lent.stream().distinct().count());
    lent.forEach(pool::give);
    assertTrue(lent.contains(pool.take()));
  }
}
