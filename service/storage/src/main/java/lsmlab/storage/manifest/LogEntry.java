package lsmlab.storage.manifest;

/**
 * A log that must exist as long as it is needed.
 *
 * @param number of the log's file
 * @param length bytes of whole records that are certainly durable; 0 if only the file's name is;
 *     {@link #DROPPED} if the log is no longer needed
 */
public record LogEntry(long number, long length) {

  /** Length that marks a log as deleted, because a loss of power took it. */
  public static final long DROPPED = -1;
}
