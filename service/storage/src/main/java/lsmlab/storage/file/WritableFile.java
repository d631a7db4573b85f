package lsmlab.storage.file;

import java.io.IOException;
import java.nio.ByteBuffer;

/** A file that is written at its end. Used by one thread at a time. */
public interface WritableFile extends AutoCloseable {

  /**
   * Appends all remaining bytes. If it fails, it may have appended some of them; {@link #length}
   * does not count these, and the next write overwrites them.
   */
  void write(ByteBuffer bytes) throws IOException;

  /**
   * Preallocates: appends zeros that {@link #length} does not count and that the next writes
   * overwrite. If it fails, some may have been appended.
   */
  void pad(int zeros) throws IOException;

  /**
   * Truncates the file to {@code length} bytes, which must not exceed {@link #length}. Also removes
   * preallocated zeros.
   */
  void truncate(long length) throws IOException;

  /**
   * Makes all written bytes durable.
   *
   * @throws SyncFailedException if it is unknown whether they are; bytes since the last successful
   *     sync may be lost
   */
  void sync() throws IOException;

  /** Returns the number of bytes written, without preallocated zeros. */
  long length();

  /** Closes without syncing. Idempotent. */
  @Override
  void close() throws IOException;
}
