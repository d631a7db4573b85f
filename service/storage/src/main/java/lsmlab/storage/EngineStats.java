package lsmlab.storage;

/** What an engine has done since it was opened (counters) and holds now (gauges). An engine without a part reports 0. */
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

  /** Of an engine that has no levels, or does not tell of them. */
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

  /** Of an engine that has none of these. */
  public static final EngineStats NONE =
      new EngineStats(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
}
