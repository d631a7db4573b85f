package lsmlab.server.metrics;

import com.sun.management.ThreadMXBean;
import io.prometheus.metrics.core.metrics.CounterWithCallback;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import io.prometheus.metrics.instrumentation.jvm.JvmBufferPoolMetrics;
import io.prometheus.metrics.instrumentation.jvm.JvmCompilationMetrics;
import io.prometheus.metrics.instrumentation.jvm.JvmGarbageCollectorMetrics;
import io.prometheus.metrics.instrumentation.jvm.JvmMemoryMetrics;
import io.prometheus.metrics.instrumentation.jvm.ProcessMetrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.management.ManagementFactory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The metrics of the JVM and the process: the Prometheus client's own, and those that it lacks.
 *
 * <p>The client's {@code JvmThreadsMetrics} is left out: at each scrape it stops all threads twice, to search for
 * deadlocks and to count thread states. These pauses would show up as latency.
 */
final class JvmMetrics {

  private static final Logger log = LoggerFactory.getLogger(JvmMetrics.class);

  private JvmMetrics() {}

  static void register(PrometheusRegistry registry) {
    JvmMemoryMetrics.builder().register(registry);
    JvmBufferPoolMetrics.builder().register(registry);
    JvmGarbageCollectorMetrics.builder().register(registry);
    JvmCompilationMetrics.builder().register(registry);
    ProcessMetrics.builder().register(registry);
    java.lang.management.ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    GaugeWithCallback.builder()
        .name("jvm_threads_current")
        .help("Platform threads.")
        .callback(out -> out.call(threads.getThreadCount()))
        .register(registry);
    if (threads instanceof ThreadMXBean hotspot && hotspot.getTotalThreadAllocatedBytes() >= 0) {
      CounterWithCallback.builder()
          .name("jvm_allocated_bytes_total")
          .help("Bytes that all threads allocated.")
          .callback(out -> out.call(hotspot.getTotalThreadAllocatedBytes()))
          .register(registry);
    }
    safepoints(registry);
  }

  /**
   * Registers the time at safepoints. Its management bean is not exported; the jar's manifest opens it ({@code
   * Add-Exports}). On a class path it stays closed, and the metric is left out.
   */
  private static void safepoints(PrometheusRegistry registry) {
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
      CounterWithCallback.builder()
          .name("jvm_safepoint_seconds_total")
          .help("Time that threads were stopped at safepoints.")
          .callback(out -> out.call(read(millis) / 1e3))
          .register(registry);
    } catch (ReflectiveOperationException e) {
      log.debug("no jvm_safepoint_seconds_total: {}", e.toString());
    }
  }

  private static long read(MethodHandle handle) {
    try {
      return (long) handle.invoke();
    } catch (Throwable e) {
      throw new IllegalStateException("the JVM showed its safepoint bean and then hid it", e);
    }
  }
}
