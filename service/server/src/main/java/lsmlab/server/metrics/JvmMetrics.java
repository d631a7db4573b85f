package lsmlab.server.metrics;

import com.sun.management.ThreadMXBean;
import com.sun.management.UnixOperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The JVM's and the process' metrics, from its management beans and from {@code /proc/self}. */
final class JvmMetrics {

  private static final Logger log = LoggerFactory.getLogger(JvmMetrics.class);
  private static final Path STATUS = Path.of("/proc/self/status");

  private final Object hotspot = hotspotRuntime();

  void write(PrometheusText out) {
    MemoryMXBean memory = ManagementFactory.getMemoryMXBean();
    out.metric("jvm_memory_used_bytes", "gauge", "Memory that the JVM uses.");
    out.sample("jvm_memory_used_bytes", memory.getHeapMemoryUsage().getUsed(), "area", "heap");
    out.sample(
        "jvm_memory_used_bytes", memory.getNonHeapMemoryUsage().getUsed(), "area", "nonheap");
    out.gauge(
        "jvm_threads", "Platform threads.", ManagementFactory.getThreadMXBean().getThreadCount());
    if (ManagementFactory.getThreadMXBean() instanceof ThreadMXBean threads
        && threads.getTotalThreadAllocatedBytes() >= 0) {
      out.metric("jvm_allocated_bytes_total", "counter", "Bytes that all threads allocated.");
      out.sample("jvm_allocated_bytes_total", threads.getTotalThreadAllocatedBytes());
    }
    out.metric("jvm_gc_seconds_total", "counter", "Time spent in garbage collections.");
    for (GarbageCollectorMXBean gc : ManagementFactory.getGarbageCollectorMXBeans()) {
      out.seconds("jvm_gc_seconds_total", millis(gc.getCollectionTime()), "gc", gc.getName());
    }
    out.metric("jvm_gc_collections_total", "counter", "Garbage collections.");
    for (GarbageCollectorMXBean gc : ManagementFactory.getGarbageCollectorMXBeans()) {
      out.sample(
          "jvm_gc_collections_total", Math.max(0, gc.getCollectionCount()), "gc", gc.getName());
    }
    if (hotspot != null) {
      out.secondsCounter(
          "jvm_safepoint_seconds_total",
          "Time that threads were stopped at safepoints.",
          millis(safepointMillis()));
    }
    if (ManagementFactory.getOperatingSystemMXBean() instanceof UnixOperatingSystemMXBean os) {
      out.secondsCounter("process_cpu_seconds_total", "CPU time used.", os.getProcessCpuTime());
      out.gauge("process_open_fds", "Open file descriptors.", os.getOpenFileDescriptorCount());
    }
    long resident = residentBytes();
    if (resident >= 0) {
      out.gauge("process_resident_memory_bytes", "Resident memory.", resident);
    }
  }

  private static long millis(long millis) {
    return TimeUnit.MILLISECONDS.toNanos(Math.max(0, millis));
  }

  /**
   * The bean that knows of safepoints. It is not exported: the jar's manifest opens it ({@code Add-Exports}), a class
   * path does not, and then the metric is left out.
   */
  private static Object hotspotRuntime() {
    try {
      return Class.forName("sun.management.ManagementFactoryHelper")
          .getMethod("getHotspotRuntimeMBean")
          .invoke(null);
    } catch (ReflectiveOperationException e) {
      log.debug("no jvm_safepoint_seconds_total: {}", e.toString());
      return null;
    }
  }

  private long safepointMillis() {
    try {
      return (long)
          Class.forName("sun.management.HotspotRuntimeMBean")
              .getMethod("getTotalSafepointTime")
              .invoke(hotspot);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("the JVM showed its safepoint bean and then hid it", e);
    }
  }

  /** Bytes of resident memory, -1 where the system has no /proc. */
  private static long residentBytes() {
    try {
      for (String line : Files.readAllLines(STATUS)) {
        if (line.startsWith("VmRSS:")) {
          return 1024 * Long.parseLong(line.replaceAll("[^0-9]", ""));
        }
      }
    } catch (IOException e) {
      log.debug("no process_resident_memory_bytes: {}", e.toString());
    }
    return -1;
  }
}
