package lsmlab.storage.file;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.stream.Stream;
import lsmlab.storage.CheckpointException;

/**
 * The directory of a checkpoint. It is created as {@code <name>.part} and renamed when it is
 * complete, so a directory with the final name is a complete checkpoint. Not thread-safe.
 */
public final class CheckpointTarget implements AutoCloseable {

  private final Path path;
  private final Path part;
  private boolean finished;

  private CheckpointTarget(Path path, Path part) {
    this.path = path;
    this.part = part;
  }

  /**
   * Checks that a checkpoint can be made at a path. Changes nothing.
   *
   * @param store directory of the store whose files will be linked
   * @throws CheckpointException if no checkpoint can be made there
   */
  public static void check(Path path, Path store) {
    Path parent = path.getParent();
    if (!path.isAbsolute() || parent == null || !path.equals(path.normalize())) {
      throw new CheckpointException(path + " is not an absolute path without . and ..");
    }
    if (Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
      throw new CheckpointException(path + " exists: name a directory that does not exist yet");
    }
    if (!Files.isDirectory(parent)) {
      throw new CheckpointException(parent + " is not a directory: create it first");
    }
    try {
      Path real = parent.toRealPath();
      if (real.startsWith(store.toRealPath())) {
        throw new CheckpointException(path + " is inside the store: name a directory outside it");
      }
      if (!Files.isWritable(real)) {
        throw new CheckpointException(
            parent + " is not writable for the user who runs the service: change its permissions");
      }
      if (!Files.getFileStore(real).equals(Files.getFileStore(store))) {
        throw otherFileSystem(path, store, null);
      }
    } catch (IOException e) {
      throw new CheckpointException(path + " cannot be used: " + e.getMessage(), e);
    }
  }

  /**
   * Creates the directory under its temporary name.
   *
   * @throws CheckpointException if it cannot be created
   */
  public static CheckpointTarget make(Path path, Path store) {
    check(path, store);
    Path part = path.resolveSibling(path.getFileName() + ".part");
    try {
      Files.createDirectory(part);
    } catch (FileAlreadyExistsException e) {
      throw new CheckpointException(
          part
              + " exists: another checkpoint is being written there, or one was interrupted; delete it",
          e);
    } catch (AccessDeniedException e) {
      throw new CheckpointException(
          part + " cannot be created: permission denied; make its parent directory writable", e);
    } catch (IOException e) {
      throw new CheckpointException(part + " cannot be created: " + e.getMessage(), e);
    }
    return new CheckpointTarget(path, part);
  }

  /** Returns the error for a checkpoint on another file system, to which files cannot be linked. */
  static CheckpointException otherFileSystem(Path path, Path store, Throwable cause) {
    return new CheckpointException(
        path
            + " is on another file system than the store "
            + store
            + ": files cannot be linked there; name a directory on the store's file system",
        cause);
  }

  /** Returns the directory to fill. */
  public OsStoreDirectory directory() throws IOException {
    return new OsStoreDirectory(part);
  }

  /** Gives the directory its final name, durably. Its content must already be durable. */
  public void finish() throws IOException {
    Files.move(part, path, StandardCopyOption.ATOMIC_MOVE);
    finished = true;
    OsStoreDirectory.syncDirectory(path.getParent());
  }

  /** Deletes the directory unless it was finished. */
  @Override
  public void close() throws IOException {
    if (finished) {
      return;
    }
    List<Path> files;
    try (Stream<Path> list = Files.list(part)) {
      files = list.toList();
    }
    for (Path file : files) {
      Files.delete(file);
    }
    Files.delete(part);
  }

  /** Whether a file could not be linked because the target is on another file system. */
  static boolean isOtherFileSystem(FileSystemException e) {
    return e.getReason() != null && e.getReason().contains("cross-device");
  }
}
