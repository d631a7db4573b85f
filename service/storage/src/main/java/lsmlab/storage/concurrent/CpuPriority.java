package lsmlab.storage.concurrent;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.invoke.MethodHandle;
import java.util.Locale;
import java.util.Optional;

/**
 * Lowers the priority of flush and compaction threads, so that threads that serve requests run
 * first on a shared CPU. At equal priority a preempted writer waits for its turn among the
 * background threads. The slowest writes come from that wait, not from the disk.
 *
 * <p>Uses nice(3), which on Linux changes only the calling thread. Does nothing on other systems.
 * Java's thread priorities have no effect on Linux, unless the JVM runs as root with a flag.
 * Thread-safe.
 */
public final class CpuPriority {

  /**
   * Gives a background thread a third of the CPU time of a serving thread on the same CPU. With
   * less, compactions would fall further and further behind when reads alone use up a CPU.
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

  /** Lowers the priority of the calling platform thread permanently. */
  public static void lowerForThisThread() {
    if (NICE == null) {
      return;
    }
    try {
      int unused =
          (int) NICE.invokeExact(BACKGROUND_INCREMENT); // raising the nice value is always allowed
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException("nice cannot be called", e);
    }
  }
}
