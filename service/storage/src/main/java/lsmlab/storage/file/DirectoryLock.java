package lsmlab.storage.file;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Optional;

/**
 * A lock on a directory itself (flock(2)), held until it is closed or the process ends. Java can
 * only lock files, and a lock file can be deleted while it is locked. Does nothing on systems other
 * than Linux, or if the file system has no such locks.
 */
final class DirectoryLock implements AutoCloseable {

  private static final int O_RDONLY_DIRECTORY_CLOEXEC = 0x90000;
  private static final int O_DIRECTORY_ARM = 0x84000;
  private static final int LOCK_EX_NB = 2 | 4;
  private static final int EWOULDBLOCK = 11;
  private static final int NONE = -1;

  private static final boolean LINUX =
      System.getProperty("os.name").toLowerCase(Locale.ROOT).contains("linux");
  private static final StructLayout STATE = Linker.Option.captureStateLayout();
  private static final VarHandle ERRNO =
      STATE.varHandle(StructLayout.PathElement.groupElement("errno"));
  private static final MethodHandle OPEN =
      find(
          "open",
          FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT),
          Linker.Option.firstVariadicArg(2));
  private static final MethodHandle FLOCK =
      find(
          "flock",
          FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT),
          Linker.Option.captureCallState("errno"));
  private static final MethodHandle CLOSE =
      find("close", FunctionDescriptor.of(JAVA_INT, JAVA_INT));

  private int descriptor;

  private DirectoryLock(int descriptor) {
    this.descriptor = descriptor;
  }

  private static MethodHandle find(String name, FunctionDescriptor type, Linker.Option... options) {
    if (!LINUX) {
      return null;
    }
    Linker linker = Linker.nativeLinker();
    return linker
        .defaultLookup()
        .find(name)
        .map(address -> linker.downcallHandle(address, type, options))
        .orElse(null);
  }

  /** Takes the lock. Returns empty if someone else holds it. */
  static Optional<DirectoryLock> take(Path directory) throws IOException {
    if (OPEN == null || FLOCK == null || CLOSE == null) {
      return Optional.of(new DirectoryLock(NONE));
    }
    boolean arm = System.getProperty("os.arch").equals("aarch64");
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment name = arena.allocateFrom(directory.toString());
      int flags = arm ? O_DIRECTORY_ARM : O_RDONLY_DIRECTORY_CLOEXEC;
      int descriptor = (int) OPEN.invokeExact(name, flags);
      if (descriptor < 0) {
        throw new IOException("cannot open " + directory + " to lock it");
      }
      DirectoryLock lock = new DirectoryLock(descriptor);
      MemorySegment state = arena.allocate(STATE);
      if ((int) FLOCK.invokeExact(state, descriptor, LOCK_EX_NB) == 0) {
        return Optional.of(lock);
      }
      lock.close();
      boolean taken = (int) ERRNO.get(state, 0L) == EWOULDBLOCK;
      return taken ? Optional.empty() : Optional.of(new DirectoryLock(NONE));
    } catch (IOException | RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException("open, flock and close cannot be called", e);
    }
  }

  @Override
  public void close() {
    if (descriptor == NONE) {
      return;
    }
    try {
      int unused = (int) CLOSE.invokeExact(descriptor);
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException("close cannot be called", e);
    }
    descriptor = NONE;
  }
}
