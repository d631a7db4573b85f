package lsmlab.server.metrics;

import com.sun.management.OperatingSystemMXBean;
import com.sun.management.ThreadMXBean;
import com.sun.management.UnixOperatingSystemMXBean;
import java.io.IOException;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.CompilationMXBean;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryMXBean;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryUsage;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.ToLongFunction;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Metrics of the JVM and the process, with the names that the Prometheus client library uses.
 *
 * <p>The library's metrics of thread states are left out: they stop all threads at each scrape, and these pauses would
 * be measured as latency.
 */
final class JvmMetrics {

  private static final Logger log = LoggerFactory.getLogger(JvmMetrics.class);

  private static final double NANOS = 1e9;
  private static final double MILLIS = 1e3;

  private static final Path STATUS = Path.of("/proc/self/status");
  private static final String RESIDENT = "VmRSS:";

  private JvmMetrics() {}

  static void register(MetricsText text) {
    memory(text);
    collections(text);
    process(text);
    threads(text);
    CompilationMXBean compilation = ManagementFactory.getCompilationMXBean();
    if (compilation != null && compilation.isCompilationTimeMonitoringSupported()) {
      text.counter(
          "jvm_compilation_time_seconds_total",
          "Time spent in JIT compilation.",
          () -> compilation.getTotalCompilationTime() / MILLIS);
    }
    safepoints(text);
  }

  private static void memory(MetricsText text) {
    area(text, "jvm_memory_used_bytes", "Memory in use.", MemoryUsage::getUsed);
    area(text, "jvm_memory_committed_bytes", "Memory reserved.", MemoryUsage::getCommitted);
    area(
        text,
        "jvm_memory_max_bytes",
        "Maximum of the memory; -1 for no limit.",
        MemoryUsage::getMax);
    List<MemoryPoolMXBean> pools = ManagementFactory.getMemoryPoolMXBeans();
    text.gauge(
        "jvm_memory_pool_used_bytes",
        "Memory in use, by pool.",
        "pool",
        out -> pools.forEach(pool -> out.accept(pool.getName(), pool.getUsage().getUsed())));
    List<BufferPoolMXBean> buffers = ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class);
    text.gauge(
        "jvm_buffer_pool_used_bytes",
        "Memory of buffers outside the heap.",
        "pool",
        out -> buffers.forEach(pool -> out.accept(pool.getName(), pool.getMemoryUsed())));
  }

  private static void area(
      MetricsText text, String name, String help, ToLongFunction<MemoryUsage> value) {
    MemoryMXBean memory = ManagementFactory.getMemoryMXBean();
    text.gauge(
        name,
        help,
        "area",
        out -> {
          out.accept("heap", value.applyAsLong(memory.getHeapMemoryUsage()));
          out.accept("nonheap", value.applyAsLong(memory.getNonHeapMemoryUsage()));
        });
  }

  private static void collections(MetricsText text) {
    String name = "jvm_gc_collection_seconds";
    String header = MetricsText.header(name, "summary", "Time spent in garbage collections.");
    List<GarbageCollectorMXBean> collectors = ManagementFactory.getGarbageCollectorMXBeans();
    text.add(
        page -> {
          page.append(header);
          for (GarbageCollectorMXBean gc : collectors) {
            String count = MetricsText.series(name + "_count", "gc", gc.getName());
            String sum = MetricsText.series(name + "_sum", "gc", gc.getName());
            MetricsText.sample(page, count, gc.getCollectionCount());
            MetricsText.sample(page, sum, gc.getCollectionTime() / MILLIS);
          }
        });
  }

  private static void process(MetricsText text) {
    if (ManagementFactory.getOperatingSystemMXBean() instanceof OperatingSystemMXBean system) {
      text.counter(
          "process_cpu_seconds_total",
          "CPU time of the process.",
          () -> system.getProcessCpuTime() / NANOS);
      if (system instanceof UnixOperatingSystemMXBean unix) {
        text.gauge("process_open_fds", "Open file descriptors.", unix::getOpenFileDescriptorCount);
      }
    }
    if (Files.isReadable(STATUS)) {
      text.gauge(
          "process_resident_memory_bytes",
          "Resident memory of the process.",
          JvmMetrics::residentBytes);
    }
  }

  /** Reads the line {@code VmRSS:     123456 kB}. Returns NaN if it cannot be read. */
  private static double residentBytes() {
    try {
      String status = Files.readString(STATUS, StandardCharsets.ISO_8859_1);
      int begin = status.indexOf(RESIDENT) + RESIDENT.length();
      String kilobytes = status.substring(begin, status.indexOf("kB", begin)).strip();
      return 1024.0 * Long.parseLong(kilobytes);
    } catch (IOException | IndexOutOfBoundsException | NumberFormatException e) {
      log.debug("process_resident_memory_bytes is not available: {}", e.toString());
      return Double.NaN;
    }
  }

  private static void threads(MetricsText text) {
    java.lang.management.ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    text.gauge("jvm_threads_current", "Live platform threads.", threads::getThreadCount);
    if (threads instanceof ThreadMXBean hotspot && hotspot.getTotalThreadAllocatedBytes() >= 0) {
      text.counter(
          "jvm_allocated_bytes_total",
          "Bytes allocated by all threads.",
          hotspot::getTotalThreadAllocatedBytes);
    }
  }

  /**
   * Adds the time spent at safepoints. The JDK does not export the bean that counts it. The manifest of the service's
   * jar exports it ({@code Add-Exports}); without the jar, on a class path, the metric is left out.
   */
  private static void safepoints(MetricsText text) {
    try {
      Class<?> bean = Class.forName("sun.management.HotspotRuntimeMBean");
      Object runtime =
          Class.forName("sun.management.ManagementFactoryHelper")
              .getMethod("getHotspotRuntimeMBean")
              .invoke(null);
      MethodHandle millis =
          MethodHandles.lookup()
              .findVirtual(bean, "getTotalSafepointTime", MethodType.methodType(long.class))
              .bindTo(runtime);
      text.counter(
          "jvm_safepoint_seconds_total",
          "Time for which threads were stopped at safepoints.",
          () -> read(millis) / MILLIS);
    } catch (ReflectiveOperationException e) {
      log.debug("jvm_safepoint_seconds_total is not available: {}", e.toString());
    }
  }

  private static long read(MethodHandle handle) {
    try {
      return (long) handle.invoke();
    } catch (Throwable e) {
      throw new IllegalStateException("the JVM's safepoint time can no longer be read", e);
    }
  }
}
