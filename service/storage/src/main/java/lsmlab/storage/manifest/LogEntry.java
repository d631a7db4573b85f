package lsmlab.storage.manifest;

/**
 * A log and the number of bytes of whole records at its start.
 *
 * @param number number of the log's file
 */
public record LogEntry(long number, long length) {

  /** No log. */
  public static final LogEntry NONE = new LogEntry(0, 0);
}
