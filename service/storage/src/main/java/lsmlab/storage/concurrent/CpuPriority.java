package lsmlab.storage.concurrent;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.invoke.MethodHandle;
import java.util.Locale;
import java.util.Optional;

/**
 * Lets threads that flush and merge stand back behind those that serve, where they share a CPU. At the same priority a
 * writer that was preempted waits for its turn among them; that wait, not the disk, made the longest writes.
 *
 * <p>Uses nice(3), which on Linux changes the calling thread alone; elsewhere nothing happens. A JVM's own thread
 * priorities have no effect on Linux unless it runs as root with a flag. Thread-safe.
 */
public final class CpuPriority {

  /**
   * Leaves a third of the CPU time of a thread that serves on the same CPU. Less would let merging fall behind for good
   * where reads alone use up a CPU.
   */
  private static final int BACKGROUND_INCREMENT = 5;

  private static final MethodHandle NICE = find().orElse(null);

  private CpuPriority() {}

  private static Optional<MethodHandle> find() {
    if (!System.getProperty("os.name").toLowerCase(Locale.ROOT).contains("linux")) {
      return Optional.empty();
    }
    Linker linker = Linker.nativeLinker();
    return linker
        .defaultLookup()
        .find("nice")
        .map(address -> linker.downcallHandle(address, FunctionDescriptor.of(JAVA_INT, JAVA_INT)));
  }

  /** From now on the calling platform thread stands back. */
  public static void lowerForThisThread() {
    if (NICE == null) {
      return;
    }
    try {
      int unused = (int) NICE.invokeExact(BACKGROUND_INCREMENT); // more niceness is never refused
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException("nice cannot be called", e);
    }
  }
}
