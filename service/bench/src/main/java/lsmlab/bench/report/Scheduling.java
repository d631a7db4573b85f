package lsmlab.bench.report;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/** Where and with what right to the CPU the calling thread runs (Linux; sched_setaffinity(2), sched_setscheduler(2)). */
public final class Scheduling {

  /** Of the C library's sets of CPUs. */
  private static final int SET_BYTES = 128;

  private static final int SCHED_FIFO = 1;

  /** The calling thread, to these calls. */
  private static final int SELF = 0;

  private static final Optional<MethodHandle> GET_AFFINITY =
      find("sched_getaffinity", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, ADDRESS));
  private static final Optional<MethodHandle> SET_AFFINITY =
      find("sched_setaffinity", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_LONG, ADDRESS));
  private static final Optional<MethodHandle> SET_SCHEDULER =
      find("sched_setscheduler", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, ADDRESS));

  private Scheduling() {}

  private static Optional<MethodHandle> find(String name, FunctionDescriptor type) {
    Linker linker = Linker.nativeLinker();
    return linker.defaultLookup().find(name).map(address -> linker.downcallHandle(address, type));
  }

  /** The CPUs that the calling thread may use; none where the system does not tell. */
  public static List<Integer> cpus() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment set = arena.allocate(SET_BYTES, Long.BYTES);
      if (!succeeds(
          GET_AFFINITY, handle -> (int) handle.invokeExact(SELF, (long) SET_BYTES, set))) {
        return List.of();
      }
      return IntStream.range(0, SET_BYTES * Byte.SIZE)
          .filter(cpu -> (set.get(JAVA_BYTE, cpu / Byte.SIZE) >> cpu % Byte.SIZE & 1) == 1)
          .boxed()
          .toList();
    }
  }

  /** Allows the calling thread this CPU alone; false if the system refuses. */
  public static boolean bindTo(int cpu) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment set = arena.allocate(SET_BYTES, Long.BYTES);
      set.set(JAVA_BYTE, cpu / Byte.SIZE, (byte) (1 << cpu % Byte.SIZE));
      return succeeds(
          SET_AFFINITY, handle -> (int) handle.invokeExact(SELF, (long) SET_BYTES, set));
    }
  }

  /** Puts the calling thread before all ordinary ones; false if the system refuses. */
  public static boolean makeRealTime(int priority) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment parameter = arena.allocate(JAVA_INT);
      parameter.set(JAVA_INT, 0, priority);
      return succeeds(
          SET_SCHEDULER, handle -> (int) handle.invokeExact(SELF, SCHED_FIFO, parameter));
    }
  }

  private interface Call {
    int through(MethodHandle handle) throws Throwable;
  }

  private static boolean succeeds(Optional<MethodHandle> handle, Call call) {
    try {
      return handle.isPresent() && call.through(handle.get()) >= 0;
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException("a system call cannot be made", e);
    }
  }
}
