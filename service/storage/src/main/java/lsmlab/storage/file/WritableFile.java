package lsmlab.storage.file;

import java.io.IOException;
import java.nio.ByteBuffer;

/** A file that is written at its end. One user at a time. */
public interface WritableFile extends AutoCloseable {

  /**
   * Appends all remaining bytes. On failure some of them may have been appended; {@link #length} still counts only what
   * earlier calls wrote, and the next write overwrites the rest.
   */
  void write(ByteBuffer bytes) throws IOException;

  /**
   * Makes room: appends so many zeros that do not count as written, so that the next writes overwrite them. On failure
   * some may have been appended.
   */
  void pad(int zeros) throws IOException;

  /** Cuts the file back to {@code length}, no more than {@link #length}; room that was made is gone then. */
  void truncate(long length) throws IOException;

  /**
   * Makes every byte written durable.
   *
   * @throws SyncFailedException if that is not certain; then nothing is known of the bytes since the last success
   */
  void sync() throws IOException;

  /** Bytes written. */
  long length();

  /** Closes without syncing. Idempotent. */
  @Override
  void close() throws IOException;
}
