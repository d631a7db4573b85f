package lsmlab.server.metrics;

/**
 * The log-linear bucket layout of the latency histograms: two buckets for each doubling. The bounds include 50 µs, 75
 * µs, 100 µs and 150 µs; the last two are 10 s and infinity.
 *
 * <p>Each bound is an inclusive upper bound, like Prometheus' {@code le}. Finding the bucket of a duration takes one
 * division by a constant and one count of leading zeros: no search, no table.
 */
public final class LatencyBuckets {

  /** Unit of the bounds: each finite bound except the last is {@code 2^n} or {@code 3 * 2^n} units. */
  private static final int UNIT_NANOS = 3_125;

  /** Number of doublings from the first bound, 2 units; each has two bounds, the last of them 9.83 s. */
  private static final int OCTAVES = 21;

  private static final long LAST_BOUND_NANOS = 10_000_000_000L;

  /** Number of buckets, including the infinite one. */
  public static final int COUNT = 2 * OCTAVES + 2;

  private LatencyBuckets() {}

  /** Returns the bucket of a duration. Negative ones, which a clock may produce across CPUs, belong to the first. */
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

  /** Returns a bucket's inclusive upper bound in nanoseconds; {@link Long#MAX_VALUE} for the infinite one. */
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
