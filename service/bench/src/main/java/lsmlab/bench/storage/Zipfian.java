package lsmlab.bench.storage;

/**
 * Draws numbers from a scrambled Zipfian distribution, as YCSB does (Cooper et al., 2010): rank r
 * has a probability proportional to {@code 1 / r^0.99}, and the ranks are scattered over all
 * numbers. Source: Gray et al., "Quickly generating billion-record synthetic databases" (1994).
 * Immutable and thread-safe.
 */
final class Zipfian {

  private static final double THETA = 0.99;

  private final int count;
  private final double zeta;
  private final double eta;

  /**
   * @param count at least 2; the numbers are 0 … count − 1
   */
  Zipfian(int count) {
    this.count = count;
    double sum = 0;
    for (int rank = 1; rank <= count; rank++) {
      sum += Math.pow(rank, -THETA);
    }
    zeta = sum;
    double zetaOfTwo = 1 + Math.pow(2, -THETA);
    eta = (1 - Math.pow(2.0 / count, 1 - THETA)) / (1 - zetaOfTwo / zeta);
  }

  /** Returns the rank for these random bits; 0 is the most frequent one. */
  int rank(long bits) {
    double uniform = (bits >>> 11) * 0x1p-53;
    double scaled = uniform * zeta;
    if (scaled < 1) {
      return 0;
    }
    if (scaled < 1 + Math.pow(0.5, THETA)) {
      return 1;
    }
    return (int) Math.min(count - 1, count * Math.pow(eta * uniform - eta + 1, 1 / (1 - THETA)));
  }

  /** Returns the number for these random bits. */
  int number(long bits) {
    return (int) Long.remainderUnsigned(Pairs.mix(rank(bits) + 1L), count);
  }
}
