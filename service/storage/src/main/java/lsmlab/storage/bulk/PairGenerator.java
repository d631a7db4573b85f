package lsmlab.storage.bulk;

import java.nio.charset.StandardCharsets;

/**
 * The pairs of a dataset, each from nothing but the seed and its number, so that they can be made in any order and again
 * by whoever wants to check an answer.
 *
 * <p>Key i is {@code k} and i in nine digits. Value i is 90 to 110 % of the mean length, uniformly; its bytes are drawn
 * from 64 printable ASCII characters, which a compressor shrinks by the quarter that such characters leave and no more. If
 * fewer than 100 % of them are to be unique, the rest of the value repeats those.
 * The numbers are SplitMix64's (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", 2014), begun at a
 * mix of seed and i. Immutable.
 */
public final class PairGenerator {

  /** Bytes of a key. */
  public static final int KEY_BYTES = 10;

  /** Numbers that nine digits can write. */
  public static final long PAIRS_MAX = 1_000_000_000L;

  private static final byte[] ALPHABET =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
          .getBytes(StandardCharsets.US_ASCII);
  private static final int CHARACTERS_PER_NUMBER = 10;
  private static final long GAMMA = 0x9E3779B97F4A7C15L;

  private final int valueBytes;
  private final int uniquePercent;
  private final long seed;

  /**
   * @param valueBytes mean length of a value, 0 or more
   * @param uniquePercent part of a value that is drawn anew, 1 to 100; 25 compresses to about a quarter
   */
  public PairGenerator(int valueBytes, int uniquePercent, long seed) {
    if (valueBytes < 0 || valueBytes > 64 * 1024 * 1024) {
      throw new IllegalArgumentException("value bytes are 0 to 67108864, not " + valueBytes);
    }
    if (uniquePercent < 1 || uniquePercent > 100) {
      throw new IllegalArgumentException("unique percent is 1 to 100, not " + uniquePercent);
    }
    this.valueBytes = valueBytes;
    this.uniquePercent = uniquePercent;
    this.seed = seed;
  }

  /** Longest value in bytes. */
  public int valueBytesMax() {
    return (int) (valueBytes * 110L / 100);
  }

  private int valueBytesMin() {
    return (int) ((valueBytes * 90L + 99) / 100);
  }

  /** Writes key {@code number} to the start of the array. */
  public static void key(long number, byte[] key) {
    if (number < 0 || number >= PAIRS_MAX) {
      throw new IllegalArgumentException("no key has the number " + number);
    }
    key[0] = 'k';
    long rest = number;
    for (int i = KEY_BYTES - 1; i > 0; i--) {
      key[i] = (byte) ('0' + rest % 10);
      rest /= 10;
    }
  }

  /** Writes value {@code number} to the start of the array, which has room for the longest, and returns its length. */
  public int value(long number, byte[] value) {
    long state = mix(mix(seed + GAMMA) ^ (number * 0xD6E8FEB86659FD93L));
    int min = valueBytesMin();
    state += GAMMA;
    int length = min + (int) Math.unsignedMultiplyHigh(mix(state), valueBytesMax() - min + 1L);
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
