package lsmlab.storage.bulk;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.zip.Deflater;
import org.junit.jupiter.api.Test;

class PairGeneratorTest {

  @Test
  void keysAreKAndNineDigits() {
    byte[] key = new byte[PairGenerator.KEY_BYTES];
    PairGenerator.key(0, key);
    assertEquals("k000000000", new String(key, US_ASCII));
    PairGenerator.key(999_999_999, key);
    assertEquals("k999999999", new String(key, US_ASCII));
    assertThrows(IllegalArgumentException.class, () -> PairGenerator.key(1_000_000_000, key));
  }

  @Test
  void lengthsAreUniformWithinTenPercentOfTheMean() {
    PairGenerator generator = new PairGenerator(500, 100, 1);
    byte[] value = new byte[generator.valueBytesMax()];
    int[] counts = new int[551];
    int values = 101_000;
    for (int i = 0; i < values; i++) {
      counts[generator.value(i, value)]++;
    }
    double chiSquared = 0;
    for (int length = 450; length <= 550; length++) {
      chiSquared += Math.pow(counts[length] - 1_000, 2) / 1_000;
    }
    assertEquals(values, Arrays.stream(counts, 450, 551).sum());
    // 100 degrees of freedom: mean 100, standard deviation 14; the seed is fixed.
    assertTrue(chiSquared < 160, "chi squared " + chiSquared);
  }

  @Test
  void valuesArePrintableAndDoNotCompress() {
    PairGenerator generator = new PairGenerator(500, 100, 1);
    byte[] all = new byte[1_000 * generator.valueBytesMax()];
    byte[] value = new byte[generator.valueBytesMax()];
    int end = 0;
    for (int i = 0; i < 1_000; i++) {
      int length = generator.value(i, value);
      for (int j = 0; j < length; j++) {
        assertTrue(value[j] > ' ' && value[j] < 0x7f);
      }
      System.arraycopy(value, 0, all, end, length);
      end += length;
    }
    Deflater deflater = new Deflater();
    deflater.setInput(all, 0, end);
    deflater.finish();
    double ratio = deflater.deflate(new byte[all.length]) / (double) end;
    deflater.end();
    // Six bits of eight are random; a compressor that found repetition would get below.
    assertTrue(ratio > 0.745, "compressed to " + ratio);
  }

  @Test
  void aValueRepeatsItsUniquePart() {
    PairGenerator generator = new PairGenerator(500, 25, 1);
    byte[] value = new byte[generator.valueBytesMax()];
    byte[] allUnique = new byte[value.length];
    for (int i = 0; i < 1_000; i++) {
      int length = generator.value(i, value);
      assertEquals(length, new PairGenerator(500, 100, 1).value(i, allUnique));
      int unique = Math.ceilDiv(length, 4);
      for (int j = 0; j < length; j++) {
        assertEquals(allUnique[j % unique], value[j]);
      }
    }
    assertThrows(IllegalArgumentException.class, () -> new PairGenerator(500, 0, 1));
    assertThrows(IllegalArgumentException.class, () -> new PairGenerator(500, 101, 1));
  }

  @Test
  void theFirstPairsCanHaveValuesOfOneByte() {
    PairGenerator generator = new PairGenerator(500, 100, 1, 3);
    byte[] value = new byte[generator.valueBytesMax()];
    byte[] same = new byte[value.length];
    for (int i = 0; i < 3; i++) {
      assertEquals(1, generator.value(i, value));
    }
    int length = generator.value(3, value);
    assertEquals(length, new PairGenerator(500, 100, 1).value(3, same));
    assertArrayEquals(Arrays.copyOf(same, length), Arrays.copyOf(value, length));
    assertEquals(1, new PairGenerator(0, 100, 1, 1).valueBytesMax());
    assertThrows(IllegalArgumentException.class, () -> new PairGenerator(500, 100, 1, -1));
  }

  /** Pinned, because programs that check responses generate the values again. */
  @Test
  void aValueDependsOnlyOnSeedAndNumber() {
    byte[] value = new byte[40];
    PairGenerator generator = new PairGenerator(20, 100, 1);
    int length = generator.value(7, value);
    byte[] again = new byte[40];
    generator.value(3, again);
    assertEquals(length, generator.value(7, again));
    assertArrayEquals(Arrays.copyOf(value, length), Arrays.copyOf(again, length));
    new PairGenerator(20, 100, 2).value(7, again);
    assertTrue(!Arrays.equals(Arrays.copyOf(value, 18), Arrays.copyOf(again, 18)));
    assertEquals(PINNED, new String(value, 0, length, US_ASCII));
  }

  private static final String PINNED = "3aOI5VOQUWrVr5sIWyl6HZ";
}
