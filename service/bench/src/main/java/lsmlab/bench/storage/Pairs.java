package lsmlab.bench.storage;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.util.SplittableRandom;

/**
 * The pairs that every engine gets. Key i has ten bytes: {@code k} and i in nine digits. A value
 * depends only on the seed, i and its version. Its length is uniform between 90 and 110% of the
 * mean. Values are slices of one pool of random printable bytes, so making a value costs nothing.
 * Immutable and thread-safe.
 */
public final class Pairs {

  /** Length of a key in bytes. */
  public static final int KEY_BYTES = 10;

  private static final int DIGITS = 9;
  private static final int POOL_BYTES = 32 << 20;
  private static final int PRINTABLE_FIRST = ' ';
  private static final int PRINTABLE_COUNT = '~' - ' ' + 1;
  private static final int COUNT_MAX = 1_000_000_000;

  private final int count;
  private final int lengthMin;
  private final int lengthRange;
  private final long seed;
  private final byte[] pool;

  /**
   * @param count number of keys, 1 to 1,000,000,000
   * @param valueBytes mean length of a value, 1 to 1 MiB
   */
  public Pairs(int count, int valueBytes, long seed) {
    if (count < 1 || count > COUNT_MAX) {
      throw new IllegalArgumentException("pairs must be 1 to " + COUNT_MAX + ", not " + count);
    }
    if (valueBytes < 1 || valueBytes > 1 << 20) {
      throw new IllegalArgumentException(
          "value bytes must be 1 to " + (1 << 20) + ", not " + valueBytes);
    }
    this.count = count;
    this.seed = seed;
    lengthMin = Math.max(1, valueBytes - valueBytes / 10);
    lengthRange = valueBytes + valueBytes / 10 - lengthMin + 1;
    pool = new byte[POOL_BYTES];
    SplittableRandom random = new SplittableRandom(seed);
    for (int i = 0; i < pool.length; i++) {
      pool[i] = (byte) (PRINTABLE_FIRST + random.nextInt(PRINTABLE_COUNT));
    }
  }

  public int count() {
    return count;
  }

  /** Returns the array that holds all values, see {@link #valueOffset}. Do not change it. */
  public byte[] pool() {
    return pool;
  }

  public int valueOffset(long i, int version) {
    long bits = mix(seed ^ (i + ((long) version << 32)));
    return (int) Long.remainderUnsigned(bits, pool.length - lengthMin - lengthRange);
  }

  public int valueLength(long i, int version) {
    long bits = mix(~seed ^ (i + ((long) version << 32)));
    return lengthMin + (int) Long.remainderUnsigned(bits, lengthRange);
  }

  /** Longest value in bytes. */
  public int valueBytesMax() {
    return lengthMin + lengthRange - 1;
  }

  /** Returns the number of a pair, uniformly distributed, for 64 random bits. */
  public int uniform(long bits) {
    return (int) Math.unsignedMultiplyHigh(bits, count);
  }

  /** Whether the bytes are the value of pair i in this version. */
  public boolean isValue(byte[] value, long i, int version) {
    int offset = valueOffset(i, version);
    int length = valueLength(i, version);
    return value != null
        && java.util.Arrays.equals(value, 0, value.length, pool, offset, offset + length);
  }

  /** Returns the bytes of all keys and values in version 0. */
  public long bytes() {
    long bytes = 0;
    for (int i = 0; i < count; i++) {
      bytes += KEY_BYTES + valueLength(i, 0);
    }
    return bytes;
  }

  /** Writes key i into the array. Keys of the store have {@code 0 ≤ i < count}. */
  public static void key(byte[] key, int i) {
    key[0] = 'k';
    int rest = i;
    for (int digit = DIGITS; digit > 0; digit--) {
      int next = rest / 10;
      key[digit] = (byte) ('0' + rest - next * 10);
      rest = next;
    }
  }

  /** Writes an absent key that sorts between those of the pairs i and i + 1. */
  public static void absentKey(byte[] key, int i) {
    key(key, i);
    key[KEY_BYTES] = '~';
  }

  /** Returns key i as text, for messages. */
  public static String keyText(int i) {
    byte[] key = new byte[KEY_BYTES];
    key(key, i);
    return new String(key, US_ASCII);
  }

  /** The i-th number of an order of 0 … count − 1 that looks random and visits each once. */
  public int shuffled(int i) {
    return (int) ((i * 1_000_000_007L + 12_345) % count);
  }

  /** Stafford's variant 13 of MurmurHash3's finalizer. */
  public static long mix(long bits) {
    long z = (bits ^ (bits >>> 30)) * 0xbf58476d1ce4e5b9L;
    z = (z ^ (z >>> 27)) * 0x94d049bb133111ebL;
    return z ^ (z >>> 31);
  }
}
