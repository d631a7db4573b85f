package lsmlab.storage;

/** The end of a process that an engine's acknowledged writes survive. */
public enum Keeps {
  /** None: pairs are in memory only. */
  NOTHING,
  /** A clean stop. A killed process loses the writes that are not in tables yet. */
  CLOSED,
  /** A clean stop and a kill. */
  KILLED
}
