package lsmlab.bench.workload;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;

/** The kernel's cache of files (Linux, 64 bits: posix_fadvise(2)). */
final class PageCache {

  private static final int OPEN_READ_ONLY = 0;
  private static final int NOT_NEEDED = 4;

  private PageCache() {}

  /** Asks the kernel to forget what it holds of a file that has been synced. */
  static void drop(Path file) throws IOException {
    Linker linker = Linker.nativeLinker();
    try (Arena arena = Arena.ofConfined()) {
      int descriptor =
          (int)
              function(linker, "open", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT))
                  .invokeExact(arena.allocateFrom(file.toString()), OPEN_READ_ONLY);
      if (descriptor < 0) {
        throw new IOException("cannot open " + file);
      }
      int error =
          (int)
              function(
                      linker,
                      "posix_fadvise",
                      FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT))
                  .invokeExact(descriptor, 0L, 0L, NOT_NEEDED);
      int closed =
          (int)
              function(linker, "close", FunctionDescriptor.of(JAVA_INT, JAVA_INT))
                  .invokeExact(descriptor);
      if (error != 0 || closed != 0) {
        throw new IOException("posix_fadvise of " + file + " failed: error " + error);
      }
    } catch (IOException | RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException("a call of the C library failed", e);
    }
  }

  private static MethodHandle function(Linker linker, String name, FunctionDescriptor type) {
    return linker.downcallHandle(linker.defaultLookup().find(name).orElseThrow(), type);
  }
}
