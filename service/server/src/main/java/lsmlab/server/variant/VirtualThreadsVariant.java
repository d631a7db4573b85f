package lsmlab.server.variant;

import java.lang.management.ManagementFactory;
import jdk.management.VirtualThreadSchedulerMXBean;
import lsmlab.server.request.Request;

/**
 * Starts a virtual thread for each request.
 *
 * <p><b>How a request travels.</b> Socket → selector thread → the scheduler's queue → a carrier thread that mounts the
 * request's virtual thread → storage → socket.
 *
 * <p><b>What it costs.</b> A thread object and a stack chunk for each request, and the scheduler's hand-off. At most as
 * many run at once as there are carriers; {@code workers} has no effect. A virtual thread that waits for a lock frees
 * its carrier, but one that reads a file or faults in a mapped page keeps it. {@code queue_capacity} bounds the
 * requests that wait to start; the number of connections bounds those that have started. Profilers show the carriers'
 * names, {@code ForkJoinPool-1-worker-N}.
 *
 * <p><b>What it allocates.</b> These objects: about 700 bytes more for each request than {@code sync}. No buffers:
 * sockets keep one buffer per carrier, and the LSM engine needs only 8 KiB when it checks a block at its first read.
 * The engines {@code rocksdb} and {@code rocksdb-tuned} keep buffers per thread, so here they allocate new ones for
 * each request.
 *
 * <p><b>Carriers.</b> {@code carriers} sets the parallelism of the JVM's only scheduler of virtual threads, through its
 * management bean; 0 means one for each CPU. More carriers than CPUs help requests that block in the kernel, at the
 * cost of context switches.
 *
 * <p><b>Where it comes from.</b> JEP 444; one thread per request without the cost of platform threads.
 */
final class VirtualThreadsVariant extends CountedVariant {

  static final String SUMMARY = "a virtual thread for each request";

  VirtualThreadsVariant(VariantSettings settings) {
    super(settings);
    if (settings.carriers() > 0) {
      ManagementFactory.getPlatformMXBean(VirtualThreadSchedulerMXBean.class)
          .setParallelism(settings.carriers());
    }
  }

  @Override
  boolean schedule(Request request) {
    Thread.startVirtualThread(() -> run(request));
    return true;
  }
}
