package lsmlab.storage.file;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * The directory of one store: every byte the engine keeps goes through here. This is the seam at which tests put a
 * directory that crashes or fails.
 *
 * <p>What survives a loss of power is what was synced: a file's bytes after {@link WritableFile#sync}, and the making,
 * renaming and deleting of files after {@link #sync} of the directory. Nothing else may be relied upon. What survives
 * the death of the process is everything that was handed over.
 *
 * <p>Thread-safe, except that one {@link WritableFile} has one user at a time. Names have no path in them.
 */
public interface StoreDirectory extends AutoCloseable {

  /** Names of the files there are, sorted. */
  List<String> list() throws IOException;

  /** A new file of that name. Fails with {@link java.nio.file.FileAlreadyExistsException} if there is one. */
  WritableFile create(String name) throws IOException;

  /** An existing file, cut to {@code length} bytes, for writing at its end. */
  WritableFile openAt(String name, long length) throws IOException;

  /** The whole file as it is now, read-only, until the arena is closed. An empty file gives an empty segment. */
  MemorySegment map(String name, Arena arena) throws IOException;

  /**
   * Gives a finished file a second name, the same, in another directory of the same kind. Neither name is durable before
   * the other directory's {@link #sync}.
   *
   * @throws lsmlab.storage.CheckpointException if files cannot be linked from here to there
   */
  void link(String name, StoreDirectory other) throws IOException;

  /** Renames; replaces {@code to} where it exists, so that at any moment one of the two is there. */
  void rename(String from, String to) throws IOException;

  /** Removes the file. Maps of it stay valid. */
  void delete(String name) throws IOException;

  /**
   * Makes the names durable: what was created, renamed and deleted before this call.
   *
   * @throws SyncFailedException if that is not certain
   */
  void sync() throws IOException;

  /**
   * Takes the store for this object until {@link #close}, against other processes and other objects of this one.
   *
   * @throws IOException if someone else has it; the message says what to do
   */
  void lock() throws IOException;

  /** The name with its path, for messages. */
  String describe(String name);

  /** Releases the lock. */
  @Override
  void close() throws IOException;
}
