package lsmlab.storage.file;

import static java.nio.file.StandardOpenOption.CREATE;
import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousFileChannel;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;

/** A store directory in the file system of the operating system. */
public final class OsStoreDirectory implements StoreDirectory {

  /** Name of the file that is locked while a store is open. Its content is not used. */
  public static final String LOCK_NAME = "LOCK";

  /**
   * Directories that this process has locked. Their file {@link #LOCK_NAME} must not be opened: to
   * close it again would end the process's lock (fcntl(2)).
   */
  private static final Set<Path> LOCKED = ConcurrentHashMap.newKeySet();

  private final Path path;
  private FileChannel lockChannel;
  private Path locked;

  /**
   * The open directory, to sync it. Not a FileChannel: an interrupt of the calling thread would
   * close it and hide whether the sync succeeded.
   */
  private AsynchronousFileChannel syncing;

  /**
   * @param path path of the directory; created if it does not exist
   * @throws IOException if it cannot be created or is not a directory
   */
  public OsStoreDirectory(Path path) throws IOException {
    this.path = path;
    if (!Files.isDirectory(path)) {
      create(path);
    }
  }

  /** Creates the directory and those above it that do not exist, all of them durably. */
  private static void create(Path path) throws IOException {
    Path existing = path.toAbsolutePath().getParent();
    while (existing != null && !Files.exists(existing)) {
      existing = existing.getParent();
    }
    try {
      Files.createDirectories(path);
    } catch (AccessDeniedException e) {
      throw notWritable(path, e);
    } catch (FileAlreadyExistsException e) {
      throw new NotDirectoryException(path + " is a file: name a directory for the store");
    }
    for (Path at = path.toAbsolutePath(); !at.equals(existing); ) {
      at = at.getParent();
      syncDirectory(at);
    }
  }

  @Override
  public List<String> list() throws IOException {
    try (Stream<Path> files = Files.list(path)) {
      return files.map(file -> file.getFileName().toString()).sorted().toList();
    }
  }

  @Override
  public WritableFile create(String name) throws IOException {
    FileChannel channel = FileChannel.open(path.resolve(name), WRITE, CREATE_NEW);
    try {
      return new OsFile(path.resolve(name), channel, 0);
    } catch (IOException e) {
      try {
        Files.delete(path.resolve(name));
      } catch (IOException cannotDelete) {
        e.addSuppressed(cannotDelete);
      }
      throw e;
    }
  }

  @Override
  public WritableFile openAt(String name, long length) throws IOException {
    FileChannel channel = FileChannel.open(path.resolve(name), WRITE);
    try {
      if (channel.size() < length) {
        throw new IOException(
            describe(name) + " has " + channel.size() + " bytes, expected " + length);
      }
      channel.truncate(length);
      return new OsFile(path.resolve(name), channel, length);
    } catch (IOException e) {
      channel.close();
      throw e;
    }
  }

  @Override
  public MemorySegment map(String name, Arena arena) throws IOException {
    try (FileChannel channel = FileChannel.open(path.resolve(name), READ)) {
      return channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size(), arena);
    }
  }

  @Override
  public void rename(String from, String to) throws IOException {
    Files.move(
        path.resolve(from),
        path.resolve(to),
        StandardCopyOption.ATOMIC_MOVE,
        StandardCopyOption.REPLACE_EXISTING);
  }

  @Override
  public void delete(String name) throws IOException {
    Files.delete(path.resolve(name));
  }

  @Override
  public void sync() throws IOException {
    sync(syncing(), path);
  }

  /**
   * Returns the open directory. It stays open, so that a sync needs no new file descriptor. If it
   * cannot be opened, nothing was lost, so that is no failed sync.
   */
  private synchronized AsynchronousFileChannel syncing() throws IOException {
    if (syncing == null) {
      syncing = AsynchronousFileChannel.open(path, READ);
    }
    return syncing;
  }

  @Override
  public synchronized void lock() throws IOException {
    Path file = path.resolve(LOCK_NAME);
    try {
      take(file, false, WRITE, CREATE);
    } catch (AccessDeniedException e) {
      throw notWritable(file, e);
    }
    syncing();
  }

  @Override
  public synchronized void lockForReading() throws IOException {
    Path file = path.resolve(LOCK_NAME);
    try {
      take(file, true, READ);
    } catch (NoSuchFileException e) {
      // Nobody has opened the store since this directory was made.
    }
  }

  private void take(Path file, boolean shared, OpenOption... how) throws IOException {
    Path directory = path.toRealPath();
    if (!LOCKED.add(directory)) {
      throw inUse(file, null);
    }
    locked = directory;
    FileChannel channel = null;
    try {
      channel = FileChannel.open(file, how);
      if (channel.tryLock(0, Long.MAX_VALUE, shared) == null) {
        throw inUse(file, null);
      }
      lockChannel = channel;
    } catch (OverlappingFileLockException e) {
      throw inUse(file, e);
    } finally {
      if (lockChannel == null) {
        unlock(channel);
      }
    }
  }

  private void unlock(FileChannel channel) throws IOException {
    lockChannel = null;
    try {
      if (channel != null) {
        channel.close();
      }
    } finally {
      LOCKED.remove(locked);
    }
  }

  private static IOException notWritable(Path file, AccessDeniedException cause) {
    IOException e =
        new FileSystemException(
            file.toString(),
            null,
            "permission denied: make the directory writable for the user who runs the service");
    e.initCause(cause);
    return e;
  }

  private static IOException inUse(Path file, Throwable cause) {
    IOException e =
        new FileSystemException(
            file.toString(),
            null,
            "the store is open elsewhere: stop the other service, or use another data directory");
    if (cause != null) {
      e.initCause(cause);
    }
    return e;
  }

  @Override
  public String describe(String name) {
    return path.resolve(name).toString();
  }

  @Override
  public synchronized void close() throws IOException {
    if (syncing != null) {
      syncing.close();
      syncing = null;
    }
    if (lockChannel != null) {
      unlock(lockChannel);
    }
  }

  private static void syncDirectory(Path path) throws IOException {
    try (AsynchronousFileChannel channel = AsynchronousFileChannel.open(path, READ)) {
      sync(channel, path);
    }
  }

  private static void sync(AsynchronousFileChannel channel, Path path) throws IOException {
    try {
      channel.force(true);
    } catch (IOException e) {
      throw new SyncFailedException(path.toString(), e);
    }
  }

  /**
   * A file of the operating system. An interrupt of the writing thread, which may belong to any
   * caller of the engine, closes its {@link FileChannel}. In that case a write opens the file
   * again, continues, and leaves the thread interrupted. An interrupted sync would hide whether the
   * device reported an error. Therefore syncs use another kind of channel, which an interrupt does
   * not close.
   */
  private static final class OsFile implements WritableFile {
    private static final ByteBuffer ZEROS = ByteBuffer.allocateDirect(1 << 16).asReadOnlyBuffer();

    private final Path path;
    private final AsynchronousFileChannel syncing;
    private FileChannel channel;
    private long length;

    /** Takes over the channel. Closes it if the file cannot be opened a second time. */
    OsFile(Path path, FileChannel channel, long length) throws IOException {
      this.path = path;
      this.channel = channel;
      this.length = length;
      try {
        syncing = AsynchronousFileChannel.open(path, WRITE);
      } catch (IOException e) {
        channel.close();
        throw e;
      }
    }

    @Override
    public void write(ByteBuffer bytes) throws IOException {
      int count = bytes.remaining();
      writeAt(length, bytes);
      length += count;
    }

    @Override
    public void pad(int zeros) throws IOException {
      for (int done = 0; done < zeros; ) {
        int count = Math.min(zeros - done, ZEROS.capacity());
        writeAt(length + done, ZEROS.duplicate().limit(count));
        done += count;
      }
    }

    private void writeAt(long offset, ByteBuffer bytes) throws IOException {
      int start = bytes.position();
      boolean interrupted = Thread.interrupted();
      try {
        while (bytes.hasRemaining()) {
          try {
            channel.write(bytes, offset + bytes.position() - start);
          } catch (ClosedByInterruptException e) {
            interrupted = true;
            reopen();
          }
        }
      } finally {
        restore(interrupted);
      }
    }

    private void reopen() throws IOException {
      Thread.interrupted();
      channel = FileChannel.open(path, WRITE);
    }

    private static void restore(boolean interrupted) {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }

    @Override
    public void truncate(long newLength) throws IOException {
      boolean interrupted = Thread.interrupted();
      boolean done = false;
      try {
        while (!done) {
          try {
            channel.truncate(newLength);
            done = true;
          } catch (ClosedByInterruptException e) {
            interrupted = true;
            reopen();
          }
        }
      } finally {
        restore(interrupted);
      }
      length = newLength;
    }

    @Override
    public void sync() throws IOException {
      try {
        syncing.force(false);
      } catch (IOException e) {
        throw new SyncFailedException(path.toString(), e);
      }
    }

    @Override
    public long length() {
      return length;
    }

    @Override
    public void close() throws IOException {
      try {
        syncing.close();
      } finally {
        channel.close();
      }
    }
  }
}
