package lsmlab.storage.table;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.SplittableRandom;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** Compares the index with a linear search over all first keys. */
class TableIndexTest {

  private static final int SEEDS = 300;
  private static final int BLOCK_BYTES = 64;

  private static TableIndex index(byte[][] firstKeys, byte[] maxKey) {
    IndexBuilder builder = new IndexBuilder();
    for (int i = 0; i < firstKeys.length; i++) {
      builder.add((long) i * BLOCK_BYTES, firstKeys[i], firstKeys[i].length);
    }
    long dataEnd = (long) firstKeys.length * BLOCK_BYTES;
    ByteBuffer out = ByteBuffer.allocate(builder.bytes(dataEnd)).order(ByteOrder.LITTLE_ENDIAN);
    builder.write(out, dataEnd, firstKeys[0], maxKey);
    return new TableIndex(MemorySegment.ofBuffer(out.flip()), 0, firstKeys[0]);
  }

  private static int expected(byte[][] firstKeys, byte[] key) {
    int last = -1;
    while (last + 1 < firstKeys.length && Arrays.compareUnsigned(firstKeys[last + 1], key) <= 0) {
      last++;
    }
    return last;
  }

  private static void check(byte[][] firstKeys, TableIndex index, byte[] key) {
    byte[] shifted = new byte[key.length + 3];
    System.arraycopy(key, 0, shifted, 2, key.length);
    assertEquals(
        expected(firstKeys, key),
        index.findBlock(shifted, 2, key.length),
        () -> HexFormat.of().formatHex(key) + " of " + firstKeys.length);
  }

  /**
   * Returns keys of few different bytes, including the smallest and the greatest. So keys share
   * long prefixes, and some share all bytes that the index keeps.
   */
  private static byte[] randomKey(SplittableRandom random, byte[] bytes, int lengthMax) {
    byte[] key = new byte[random.nextInt(1, lengthMax + 1)];
    for (int i = 0; i < key.length; i++) {
      key[i] = bytes[random.nextInt(bytes.length)];
    }
    return key;
  }

  @Test
  void findsTheBlockOfEveryKey() {
    byte[][] alphabets = {{0, -1}, {-1, -2}, {0, 1, 127, -128, -1}, "ab".getBytes(US_ASCII)};
    for (long seed = 0; seed < SEEDS; seed++) {
      SplittableRandom random = new SplittableRandom(seed);
      byte[] alphabet = alphabets[random.nextInt(alphabets.length)];
      int lengthMax = random.nextInt(2, 20);
      TreeSet<byte[]> keys = new TreeSet<>(Arrays::compareUnsigned);
      for (int i = random.nextInt(1, 1_200); i >= 0; i--) {
        keys.add(randomKey(random, alphabet, lengthMax));
      }
      byte[] maxKey = keys.last();
      byte[][] firstKeys = keys.toArray(byte[][]::new);
      TableIndex index = index(firstKeys, maxKey);
      assertEquals(firstKeys.length, index.blockCount());
      for (byte[] key : firstKeys) {
        check(firstKeys, index, key);
      }
      for (int i = 0; i < 200; i++) {
        check(firstKeys, index, randomKey(random, alphabet, lengthMax + 2));
      }
    }
  }

  /** Uses numbers of blocks around those at which a group or an array is full. */
  @Test
  void findsItWhateverTheNumberOfBlocks() {
    for (int count = 1; count <= 600; count++) {
      byte[][] firstKeys = new byte[count][];
      for (int i = 0; i < count; i++) {
        firstKeys[i] = "key%04d".formatted(2 * i).getBytes(US_ASCII);
      }
      byte[] maxKey = "key9999".getBytes(US_ASCII);
      TableIndex index = index(firstKeys, maxKey);
      for (int i = 0; i <= 2 * count + 1; i++) {
        check(firstKeys, index, "key%04d".formatted(i).getBytes(US_ASCII));
      }
      check(firstKeys, index, "kez".getBytes(US_ASCII));
      check(firstKeys, index, "key".getBytes(US_ASCII));
      check(firstKeys, index, "a".getBytes(US_ASCII));
    }
  }
}
