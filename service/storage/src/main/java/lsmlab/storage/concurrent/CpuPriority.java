package lsmlab.storage.concurrent;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.FunctionDescriptor;
import java.lang.invoke.MethodHandle;
import lsmlab.storage.os.Libc;

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

  private static final MethodHandle NICE =
      Libc.find("nice", FunctionDescriptor.of(JAVA_INT, JAVA_INT));

  private CpuPriority() {}

  /** Lowers the priority of the calling platform thread permanently. */
  public static void lowerForThisThread() {
    if (NICE != null) {
      Libc.call(() -> (int) NICE.invokeExact(BACKGROUND_INCREMENT)); // raising it is always allowed
    }
  }
}
