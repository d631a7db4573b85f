package lsmlab.storage;

/** The failures that an acknowledged write survives. */
public enum Durability {
  /**
   * The WAL record is handed to the kernel before the response, so the write survives the death of
   * the process (kill -9).
   */
  PROCESS,
  /**
   * The WAL record is synced to the device before the response, so the write survives a loss of
   * power.
   */
  POWER,
  /**
   * No WAL record is written. A clean stop flushes the memtables; the death of the process loses
   * the writes that are not in tables yet. Only for measurements of what the WAL costs, and only
   * for the LSM engine; the other engines take it for {@link #PROCESS}.
   */
  NONE
}
