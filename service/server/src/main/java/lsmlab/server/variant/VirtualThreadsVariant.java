package lsmlab.server.variant;

import java.lang.management.ManagementFactory;
import jdk.management.VirtualThreadSchedulerMXBean;

/**
 * A virtual thread for each request.
 *
 * <p><b>How a request travels.</b> Socket → selector thread → the scheduler's queue → a carrier thread that mounts the
 * request's virtual thread → storage → socket.
 *
 * <p><b>What it costs.</b> A thread object and a stack chunk for each request, and the scheduler's hand-off. As many run at
 * once as there are carriers, whatever {@code workers} says; one that waits for a lock leaves its carrier to others, but
 * one that reads a file or faults in a mapped page keeps it. {@code queue_capacity} bounds the requests that wait to start,
 * the number of connections those that have started. Profilers show the carriers' names, {@code ForkJoinPool-1-worker-N}.
 *
 * <p><b>What it allocates.</b> Those objects, some 700 bytes for each request more than {@code sync}, and no buffer: sockets
 * keep theirs by carrier, the LSM engine needs none but 8 KiB when a block is checked at its first read. The engines {@code
 * rocksdb} and {@code rocksdb-tuned} keep buffers by thread, so here they make new ones for each request.
 *
 * <p><b>Carriers.</b> {@code carriers} sets the parallelism of the JVM's only scheduler of virtual threads, through its
 * management bean; 0 leaves as many as there are CPUs. More carriers than CPUs help requests that block in the kernel, at
 * the price of context switches.
 *
 * <p><b>Where it comes from.</b> JEP 444; thread-per-request without the price of threads.
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
