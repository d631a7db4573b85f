package lsmlab.server.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.LongRange;
import org.junit.jupiter.api.Test;

class LatencyBucketsTest {

  @Property
  void aDurationIsWithinTheBoundsOfItsBucket(@ForAll @LongRange(max = 20_000_000_000L) long nanos) {
    int index = LatencyBuckets.indexOf(nanos);
    assertTrue(nanos <= LatencyBuckets.boundNanos(index));
    assertTrue(index == 0 || nanos > LatencyBuckets.boundNanos(index - 1));
  }

  @Test
  void boundsAreInclusiveAndAscend() {
    for (int i = 0; i < LatencyBuckets.COUNT - 1; i++) {
      long bound = LatencyBuckets.boundNanos(i);
      assertEquals(i, LatencyBuckets.indexOf(bound));
      assertEquals(i + 1, LatencyBuckets.indexOf(bound + 1));
    }
    assertEquals(LatencyBuckets.COUNT - 1, LatencyBuckets.indexOf(Long.MAX_VALUE));
    assertEquals(0, LatencyBuckets.indexOf(-5));
  }

  @Test
  void theStatedBoundsExist() {
    for (long stated : new long[] {50_000, 75_000, 100_000, 200_000, 10_000_000_000L}) {
      assertEquals(stated, LatencyBuckets.boundNanos(LatencyBuckets.indexOf(stated)));
    }
  }
}
