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
 * The directory that a checkpoint is to become. It is made under another name, {@code <name>.part}, and renamed when it is
 * whole, so that a directory of its own name is a whole checkpoint. For one thread.
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
   * Checks the place, without touching it.
   *
   * @param store whose files are to be linked
   * @throws CheckpointException if no checkpoint can be made there
   */
  public static void check(Path path, Path store) {
    Path parent = path.getParent();
    if (!path.isAbsolute() || parent == null || !path.equals(path.normalize())) {
      throw new CheckpointException(
          path + " is not an absolute path of a directory, without . and ..");
    }
    if (Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
      throw new CheckpointException(path + " exists: name a directory that does not");
    }
    if (!Files.isDirectory(parent)) {
      throw new CheckpointException(parent + " is not a directory: make it first");
    }
    try {
      Path real = parent.toRealPath();
      if (real.startsWith(store.toRealPath())) {
        throw new CheckpointException(path + " is inside the store: name a directory outside");
      }
      if (!Files.isWritable(real)) {
        throw new CheckpointException(
            parent + " is not writable for the user who runs the service: make it writable");
      }
      if (!Files.getFileStore(real).equals(Files.getFileStore(store))) {
        throw otherFileSystem(path, store, null);
      }
    } catch (IOException e) {
      throw new CheckpointException(path + " cannot be used: " + e.getMessage(), e);
    }
  }

  /**
   * Makes the directory under its other name.
   *
   * @throws CheckpointException if it cannot be made
   */
  public static CheckpointTarget make(Path path, Path store) {
    check(path, store);
    Path part = path.resolveSibling(path.getFileName() + ".part");
    try {
      Files.createDirectory(part);
    } catch (FileAlreadyExistsException e) {
      throw new CheckpointException(
          part + " exists: another checkpoint is being made there, or was broken off; remove it",
          e);
    } catch (AccessDeniedException e) {
      throw new CheckpointException(
          part + " cannot be made: permission denied; make its parent writable", e);
    } catch (IOException e) {
      throw new CheckpointException(part + " cannot be made: " + e.getMessage(), e);
    }
    return new CheckpointTarget(path, part);
  }

  /** A file cannot be linked from one file system into another. */
  static CheckpointException otherFileSystem(Path path, Path store, Throwable cause) {
    return new CheckpointException(
        path
            + " is on another file system than the store "
            + store
            + ": files cannot be linked there; name a directory on the store's file system",
        cause);
  }

  /** The directory to fill. */
  public OsStoreDirectory directory() throws IOException {
    return new OsStoreDirectory(part);
  }

  /** Gives the directory, whose content is durable, its own name, durably. */
  public void finish() throws IOException {
    Files.move(part, path, StandardCopyOption.ATOMIC_MOVE);
    finished = true;
    OsStoreDirectory.syncDirectory(path.getParent());
  }

  /** Removes what was made unless it was finished. */
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

  /** The reason of the operating system why a file cannot be linked. */
  static boolean isOtherFileSystem(FileSystemException e) {
    return e.getReason() != null && e.getReason().contains("cross-device");
  }
}
