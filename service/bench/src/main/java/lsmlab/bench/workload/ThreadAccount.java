package lsmlab.bench.workload;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Locale;
import java.util.Optional;

/**
 * What the kernel keeps account of for the calling thread (Linux, 64 bits): its CPU time, exact and without what the host
 * took away where the kernel is told of that; the time that it could run and waited for a CPU (the second number of {@code
 * /proc/thread-self/schedstat}, sched-stats.rst of the kernel); its switches and page faults (getrusage(2)). Reading all takes
 * 2 to 3 µs and allocates nothing that lasts. Of one thread: it makes, uses and closes it.
 */
final class ThreadAccount implements AutoCloseable {

  private static final Path SCHEDULING = Path.of("/proc/thread-self/schedstat");
  private static final int RUSAGE_THREAD = 1;
  private static final long RUSAGE_BYTES = 144;
  private static final long MINOR_FAULTS = 64;
  private static final long VOLUNTARY_SWITCHES = 128;
  private static final long INVOLUNTARY_SWITCHES = 136;

  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  private static final MethodHandle GET_USAGE = find();

  private final FileChannel scheduling;
  private final ByteBuffer text = ByteBuffer.allocateDirect(128);
  private final Arena arena = Arena.ofConfined();
  private final MemorySegment usage = arena.allocate(RUSAGE_BYTES, Long.BYTES);

  private long cpuNanos;
  private long waitedNanos;

  private ThreadAccount(FileChannel scheduling) {
    this.scheduling = scheduling;
  }

  private static MethodHandle find() {
    if (!System.getProperty("os.name").toLowerCase(Locale.ROOT).contains("linux")) {
      return null;
    }
    Linker linker = Linker.nativeLinker();
    return linker
        .defaultLookup()
        .find("getrusage")
        .map(
            address ->
                linker.downcallHandle(address, FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS)))
        .orElse(null);
  }

  /** The calling thread's, or nothing where the system keeps none. */
  static Optional<ThreadAccount> open() throws IOException {
    if (GET_USAGE == null || !Files.isReadable(SCHEDULING)) {
      return Optional.empty();
    }
    return Optional.of(new ThreadAccount(FileChannel.open(SCHEDULING, StandardOpenOption.READ)));
  }

  /** Takes down the figures of this moment. */
  void read() throws IOException {
    // First, as it brings the kernel's own figures up to date.
    cpuNanos = THREADS.getCurrentThreadCpuTime();
    scheduling.read(text.clear(), 0);
    waitedNanos = second(text.flip());
    try {
      int failed = (int) GET_USAGE.invokeExact(RUSAGE_THREAD, usage);
      if (failed != 0) {
        throw new IOException("getrusage of the thread failed");
      }
    } catch (IOException | RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException("getrusage cannot be called", e);
    }
  }

  private static long second(ByteBuffer numbers) throws IOException {
    long value = 0;
    int word = 0;
    while (numbers.hasRemaining()) {
      byte character = numbers.get();
      if (character >= '0' && character <= '9') {
        value = word == 1 ? 10 * value + character - '0' : 0;
      } else if (++word == 2) {
        return value;
      }
    }
    throw new IOException(SCHEDULING + " has fewer than two numbers");
  }

  long cpuNanos() {
    return cpuNanos;
  }

  long waitedNanos() {
    return waitedNanos;
  }

  long sleeps() {
    return usage.get(JAVA_LONG, VOLUNTARY_SWITCHES);
  }

  long preemptions() {
    return usage.get(JAVA_LONG, INVOLUNTARY_SWITCHES);
  }

  long faults() {
    return usage.get(JAVA_LONG, MINOR_FAULTS);
  }

  @Override
  public void close() throws IOException {
    arena.close();
    scheduling.close();
  }
}
