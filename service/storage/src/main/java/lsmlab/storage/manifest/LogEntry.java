package lsmlab.storage.manifest;

/**
 * A log that must be there as long as it is needed.
 *
 * @param number of the log's file
 * @param length bytes of whole records that are certainly on the device; 0 if only the file's name is; {@link
 *     #DROPPED} if the log need not be there any more
 */
public record LogEntry(long number, long length) {

  /** Length of a log that was lost with the power and removed. */
  public static final long DROPPED = -1;
}
