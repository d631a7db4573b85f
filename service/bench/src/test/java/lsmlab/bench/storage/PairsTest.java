package lsmlab.bench.storage;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.BitSet;
import org.junit.jupiter.api.Test;

class PairsTest {

  private final Pairs pairs = new Pairs(1_000, 500, 1);

  @Test
  void keysAreTenBytesInOrder() {
    assertEquals("k000000000", Pairs.keyText(0));
    assertEquals("k012345678", Pairs.keyText(12_345_678));
  }

  @Test
  void anAbsentKeySortsBetweenTwoPresentOnes() {
    byte[] absent = new byte[Pairs.KEY_BYTES + 1];
    byte[] key = new byte[Pairs.KEY_BYTES];
    Pairs.absentKey(absent, 41);
    Pairs.key(key, 41);
    assertTrue(Arrays.compareUnsigned(absent, key) > 0);
    Pairs.key(key, 42);
    assertTrue(Arrays.compareUnsigned(absent, key) < 0);
  }

  @Test
  void valuesDependOnSeedNumberAndVersionOnly() {
    Pairs again = new Pairs(1_000, 500, 1);
    byte[] value = value(pairs, 7, 0);
    assertArrayEquals(value, value(again, 7, 0));
    assertTrue(pairs.isValue(value, 7, 0));
    assertFalse(pairs.isValue(value, 8, 0));
    assertFalse(pairs.isValue(value, 7, 1));
    assertFalse(pairs.isValue(null, 7, 0));
    assertFalse(new Pairs(1_000, 500, 2).isValue(value, 7, 0));
  }

  @Test
  void lengthsAreWithinTenPercentAndAddUp() {
    long bytes = 0;
    for (int i = 0; i < pairs.count(); i++) {
      int length = pairs.valueLength(i, 0);
      assertTrue(length >= 450 && length <= 550, "length " + length);
      bytes += Pairs.KEY_BYTES + length;
    }
    assertEquals(bytes, pairs.bytes());
    assertEquals(510, bytes / 1_000.0, 5);
  }

  @Test
  void theShuffleVisitsEachNumberOnce() {
    for (int count : new int[] {1, 2, 1_000, 100_003}) {
      BitSet seen = new BitSet();
      Pairs some = new Pairs(count, 1, 1);
      for (int i = 0; i < count; i++) {
        seen.set(some.shuffled(i));
      }
      assertEquals(count, seen.cardinality());
      assertEquals(count, seen.length());
    }
  }

  @Test
  void refusesSizesOutOfRange() {
    assertThrows(IllegalArgumentException.class, () -> new Pairs(0, 500, 1));
    assertThrows(IllegalArgumentException.class, () -> new Pairs(1, 0, 1));
    assertThrows(IllegalArgumentException.class, () -> new Pairs(1, 2 << 20, 1));
  }

  private static byte[] value(Pairs pairs, int i, int version) {
    int offset = pairs.valueOffset(i, version);
    return Arrays.copyOfRange(pairs.pool(), offset, offset + pairs.valueLength(i, version));
  }
}
