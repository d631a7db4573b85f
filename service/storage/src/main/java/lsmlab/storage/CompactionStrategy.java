package lsmlab.storage;

/** The way in which tables are merged in the background. */
public enum CompactionStrategy {
  /**
   * Keeps each level from 1 on as one sorted run, {@code fanout} times as large as the level above
   * it. A lookup searches few runs, but compaction writes more.
   */
  LEVELED,
  /**
   * Merges sorted runs of similar size into one. Compaction writes less, but a lookup searches more
   * runs, and tables take more disk space.
   */
  TIERED,
  /** Only {@link Engine#compact} merges tables. */
  OFF
}
