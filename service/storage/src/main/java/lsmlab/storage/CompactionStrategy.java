package lsmlab.storage;

/** How tables are merged in the background. */
public enum CompactionStrategy {
  /**
   * Each level below level 0 is one sorted run, {@code fanout} times as large as the level above
   * it: few runs to read, more to write.
   */
  LEVELED,
  /**
   * Runs of about the same size are merged into one: less to write, more runs to read, more disk
   * space.
   */
  TIERED,
  /** Only {@link Engine#compact} merges tables. */
  OFF
}
