package lsmlab.storage.bulk;

import java.nio.charset.StandardCharsets;

/**
 * Generates the pairs of a dataset. Each pair depends only on the seed and its number, so pairs can
 * be generated in any order, and generated again to check a response.
 *
 * <p>Key i is {@code k} followed by i in nine digits. The length of a value is uniformly
 * distributed between 90% and 110% of the mean. Its bytes are random characters from a set of 64
 * printable ASCII characters, so compression saves at most a quarter. If {@code uniquePercent} is
 * below 100, the rest of the value repeats its unique part. The first {@code oneBytePairs} pairs have
 * values of one byte instead: few small pairs that are asked for, among many that fill the store. The random numbers come from SplitMix64
 * (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", 2014), seeded by a mix of
 * seed and i. Immutable.
 */
public final class PairGenerator {

  /** Length of a key in bytes. */
  public static final int KEY_BYTES = 10;

  /** Maximum number of pairs: a key has nine digits. */
  public static final long PAIRS_MAX = 1_000_000_000L;

  private static final byte[] ALPHABET =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
          .getBytes(StandardCharsets.US_ASCII);
  private static final int CHARACTERS_PER_NUMBER = 10;
  private static final long GAMMA = 0x9E3779B97F4A7C15L;

  private final int valueBytes;
  private final int uniquePercent;
  private final long seed;
  private final long oneBytePairs;

  /** Generates values of {@code valueBytes} for all pairs. */
  public PairGenerator(int valueBytes, int uniquePercent, long seed) {
    this(valueBytes, uniquePercent, seed, 0);
  }

  /**
   * @param valueBytes mean length of a value in bytes, 0 to 64 MiB
   * @param uniquePercent percentage of a value that is random, 1 to 100; at 25 a value compresses
   *     to about a quarter
   * @param oneBytePairs number of pairs, from the first one on, whose value has one byte; 0 for none
   */
  public PairGenerator(int valueBytes, int uniquePercent, long seed, long oneBytePairs) {
    if (valueBytes < 0 || valueBytes > 64 * 1024 * 1024) {
      throw new IllegalArgumentException("value bytes must be 0 to 67108864, not " + valueBytes);
    }
    if (uniquePercent < 1 || uniquePercent > 100) {
      throw new IllegalArgumentException("unique percent must be 1 to 100, not " + uniquePercent);
    }
    if (oneBytePairs < 0) {
      throw new IllegalArgumentException("one-byte pairs must be 0 or more, not " + oneBytePairs);
    }
    this.valueBytes = valueBytes;
    this.uniquePercent = uniquePercent;
    this.seed = seed;
    this.oneBytePairs = oneBytePairs;
  }

  /** Longest value in bytes. */
  public int valueBytesMax() {
    return Math.max(oneBytePairs > 0 ? 1 : 0, (int) (valueBytes * 110L / 100));
  }

  private int length(long number, long random) {
    if (number < oneBytePairs) {
      return 1;
    }
    int min = (int) ((valueBytes * 90L + 99) / 100);
    int max = (int) (valueBytes * 110L / 100);
    return min + (int) Math.unsignedMultiplyHigh(random, max - min + 1L);
  }

  /** Writes key {@code number} to the start of the array. */
  public static void key(long number, byte[] key) {
    if (number < 0 || number >= PAIRS_MAX) {
      throw new IllegalArgumentException(
          "key numbers must be 0 to " + (PAIRS_MAX - 1) + ", not " + number);
    }
    key[0] = 'k';
    long rest = number;
    for (int i = KEY_BYTES - 1; i > 0; i--) {
      key[i] = (byte) ('0' + rest % 10);
      rest /= 10;
    }
  }

  /**
   * Writes value {@code number} to the start of the array, which must have room for the longest
   * value, and returns its length.
   */
  public int value(long number, byte[] value) {
    long state = mix(mix(seed + GAMMA) ^ (number * 0xD6E8FEB86659FD93L));
    state += GAMMA;
    int length = length(number, mix(state));
    int unique = (int) Math.ceilDiv((long) length * uniquePercent, 100L);
    for (int at = 0; at < unique; ) {
      state += GAMMA;
      long bits = mix(state);
      int end = Math.min(unique, at + CHARACTERS_PER_NUMBER);
      while (at < end) {
        value[at++] = ALPHABET[(int) bits & 63];
        bits >>>= 6;
      }
    }
    for (int at = unique; at < length; at++) {
      value[at] = value[at - unique];
    }
    return length;
  }

  private static long mix(long z) {
    long a = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    long b = (a ^ (a >>> 27)) * 0x94D049BB133111EBL;
    return b ^ (b >>> 31);
  }
}
