package lsmlab.storage.manifest;

/**
 * A log that must exist as long as it is needed.
 *
 * @param number number of the log's file
 * @param length number of bytes of whole records that are known to be durable; 0 if only the file's
 *     name is; {@link #DROPPED} if the log is no longer needed
 */
public record LogEntry(long number, long length) {

  /** Length that marks a log as no longer needed. Its file is deleted. */
  public static final long DROPPED = -1;
}
