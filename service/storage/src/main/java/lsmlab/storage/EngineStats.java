package lsmlab.storage;

/**
 * Counters of an engine since it was opened, and the current values of its gauges. An engine
 * reports 0 for whatever it does not have.
 */
public record EngineStats(
    long memtableBytes,
    int memtablesSealed,
    long flushes,
    long flushBytes,
    long flushNanos,
    long compactions,
    long compactionBytes,
    long compactionNanos,
    int tables,
    long tableBytes,
    long bloomNegatives,
    long bloomFalsePositives,
    long walBytes,
    long walSyncs,
    long writeStallNanos,
    TreeStats tree) {

  /** Makes the statistics of an engine that reports no levels. */
  public EngineStats(
      long memtableBytes,
      int memtablesSealed,
      long flushes,
      long flushBytes,
      long flushNanos,
      long compactions,
      long compactionBytes,
      long compactionNanos,
      int tables,
      long tableBytes,
      long bloomNegatives,
      long bloomFalsePositives,
      long walBytes,
      long walSyncs,
      long writeStallNanos) {
    this(
        memtableBytes,
        memtablesSealed,
        flushes,
        flushBytes,
        flushNanos,
        compactions,
        compactionBytes,
        compactionNanos,
        tables,
        tableBytes,
        bloomNegatives,
        bloomFalsePositives,
        walBytes,
        walSyncs,
        writeStallNanos,
        TreeStats.NONE);
  }

  /** The statistics of an engine that counts nothing. */
  public static final EngineStats NONE =
      new EngineStats(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
}
