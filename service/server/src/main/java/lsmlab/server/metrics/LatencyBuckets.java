package lsmlab.server.metrics;

/**
 * The log-linear bucket layout of the latency histograms: two buckets per doubling from {@value #UNIT_NANOS} ns, with
 * 50 µs, 75 µs, 100 µs, 150 µs … among the bounds, the last two 10 s and infinity.
 *
 * <p>Bounds are upper ones and inclusive, like Prometheus' {@code le}. The index takes a division by a constant and a
 * count of leading zeros: no search, no table.
 */
public final class LatencyBuckets {

  /** All bounds but the last finite one are multiples of it. */
  private static final int UNIT_NANOS = 3_125;

  /** Number of powers of two between the first bound, 2 units, and 9.83 s. */
  private static final int OCTAVES = 21;

  private static final long LAST_BOUND_NANOS = 10_000_000_000L;

  /** Number of buckets, with the infinite one. */
  public static final int COUNT = 2 * OCTAVES + 2;

  private LatencyBuckets() {}

  /** The bucket of a duration; negative ones, which a clock may produce across CPUs, go to the first. */
  public static int indexOf(long nanos) {
    long units = (nanos - 1) / UNIT_NANOS;
    if (units < 2) {
      return 0;
    }
    if (nanos > LAST_BOUND_NANOS) {
      return COUNT - 1;
    }
    int octave = 63 - Long.numberOfLeadingZeros(units);
    int half = (int) (units >>> (octave - 1)) & 1;
    return Math.min(2 * octave - 1 + half, COUNT - 2);
  }

  /** The inclusive upper bound of a bucket in nanoseconds; {@link Long#MAX_VALUE} for the infinite one. */
  public static long boundNanos(int index) {
    if (index == COUNT - 1) {
      return Long.MAX_VALUE;
    }
    if (index == COUNT - 2) {
      return LAST_BOUND_NANOS;
    }
    long octave = 1L << (index / 2);
    return UNIT_NANOS * (index % 2 == 0 ? 2 * octave : 3 * octave);
  }
}
