package lsmlab.storage;

/** What an acknowledged write survives. */
public enum Durability {
  /** The WAL record was handed to the kernel before the reply: survives the death of the process (kill -9). */
  PROCESS,
  /** The WAL record was synced to the device before the reply: survives the loss of power. */
  POWER
}
