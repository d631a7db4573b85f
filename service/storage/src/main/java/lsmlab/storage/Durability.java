package lsmlab.storage;

/** What an acknowledged write survives. */
public enum Durability {
  /**
   * The WAL record is handed to the kernel before the response: it survives the death of the
   * process (kill -9).
   */
  PROCESS,
  /** The WAL record is synced to the device before the response: it survives the loss of power. */
  POWER
}
