package lsmlab.bench.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import lsmlab.bench.storage.Drive.Limit;
import lsmlab.bench.storage.Drive.Result;
import org.junit.jupiter.api.Test;

class DriveTest {

  @Test
  void aTimedRunEndsAfterItsOperationsAndTimesEach() throws InterruptedException {
    Result result = Drive.timed(1, Limit.seconds(60).orOperations(1_000), () -> bits -> 7);
    assertEquals(1_000, result.operations());
    assertEquals(7_000, result.bytes());
    assertEquals(1_000, result.latency().getTotalCount());
    assertTrue(result.perSecond() > 0);
  }

  @Test
  void aRunEndsOnceItsBytesAreWritten() throws InterruptedException {
    Result result = Drive.timed(1, Limit.bytes(100), () -> bits -> 30);
    assertEquals(4, result.operations());
  }

  @Test
  void threadsDrawDifferentBitsAndASeedDrawsTheSameAgain() throws InterruptedException {
    assertEquals(3 * 256, drawn(1).size());
    assertEquals(drawn(1), drawn(1));
    Set<Long> others = drawn(4);
    others.retainAll(drawn(1));
    assertEquals(Set.of(), others);
  }

  private static Set<Long> drawn(long seed) throws InterruptedException {
    Set<Long> drawn = ConcurrentHashMap.newKeySet();
    Drive.run(
        3,
        seed,
        Limit.seconds(60).orOperations(1),
        false,
        () ->
            bits -> {
              drawn.add(bits);
              return 0;
            });
    return drawn;
  }

  @Test
  void aFailedOperationFailsTheRun() {
    IllegalStateException failed =
        assertThrows(
            IllegalStateException.class,
            () ->
                Drive.run(
                    2,
                    1,
                    Limit.seconds(60),
                    false,
                    () ->
                        bits -> {
                          throw new IllegalStateException("wrong value");
                        }));
    assertTrue(failed.getMessage().contains("wrong value"), failed.getMessage());
  }
}
