package lsmlab.storage;

/** How tables are merged in the background. */
public enum CompactionStrategy {
  /** Each level below the top one is a sorted run, ten times as large as the one above: few runs to read, more to write. */
  LEVELED,
  /** Runs of about the same size are merged into one: less to write, more runs to read and more room. */
  TIERED,
  /** Nothing is merged unless {@link Engine#compact} asks for it. */
  OFF
}
