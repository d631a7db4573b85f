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
  POWER
}
