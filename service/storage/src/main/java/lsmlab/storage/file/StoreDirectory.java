package lsmlab.storage.file;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * The directory of one store. Every byte that the engine keeps goes through this interface, so
 * tests can replace it with a directory that crashes or fails.
 *
 * <p>A loss of power preserves only what was synced: the bytes of a file after {@link
 * WritableFile#sync}, and created, renamed and deleted files after {@link #sync} of the directory.
 * The death of the process preserves everything that was written.
 *
 * <p>Thread-safe, except that only one thread at a time may use a {@link WritableFile}. Names
 * contain no path.
 */
public interface StoreDirectory extends AutoCloseable {

  /** Returns the names of all files, sorted. */
  List<String> list() throws IOException;

  /** Creates a file. Throws {@link java.nio.file.FileAlreadyExistsException} if it exists. */
  WritableFile create(String name) throws IOException;

  /** Opens an existing file for appending, and truncates it to {@code length} bytes. */
  WritableFile openAt(String name, long length) throws IOException;

  /**
   * Maps the whole file read-only until the arena is closed. An empty file gives an empty segment.
   */
  MemorySegment map(String name, Arena arena) throws IOException;

  /** Renames a file. Replaces {@code to} atomically if it exists. */
  void rename(String from, String to) throws IOException;

  /** Deletes a file. Mappings of it stay valid. */
  void delete(String name) throws IOException;

  /**
   * Makes all files that were created, renamed or deleted before this call durably so.
   *
   * @throws SyncFailedException if it is unknown whether they are
   * @throws IOException if the directory cannot be opened; nothing was synced or lost
   */
  void sync() throws IOException;

  /**
   * Locks the store until {@link #close}, against other processes and other objects in this
   * process. Prepares {@link #sync}, which then needs no new file descriptor.
   *
   * @throws IOException if someone else holds the lock; the message says what to do
   */
  void lock() throws IOException;

  /**
   * Locks the store until {@link #close} against others that change it. Changes no file, so the
   * directory need not be writable.
   *
   * @throws IOException if someone else holds the lock; the message says what to do
   */
  void lockForReading() throws IOException;

  /** Returns the name with its path, for messages. */
  String describe(String name);

  /** Releases the lock. */
  @Override
  void close() throws IOException;
}
