package lsmlab.server.variant;

import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.TimeUnit;
import lsmlab.server.request.Request;

/**
 * The selector thread hands each request to a waiting worker. If no worker is waiting, it runs the request itself.
 *
 * <p><b>How a request travels.</b> Socket → selector thread → a waiting worker → storage → socket. When all workers are
 * busy: socket → selector thread → storage → socket, as in {@link SyncVariant}. A request never waits in between.
 *
 * <p><b>What it costs.</b> A wake-up for each request that is handed over. There is no queue, so there is no queueing
 * delay and nothing to reject: {@code queue_capacity}, {@code queue_policy} and {@code idle} have no effect. A selector
 * that runs requests itself reads no more than the service can process, so excess requests wait in the clients'
 * sockets, where TCP holds them back. The drawback: one slow request that the selector runs delays all of its
 * connections.
 *
 * <p><b>Why the selector runs the remaining requests.</b> Rejecting them, as {@code ThreadPoolExecutor} does by
 * default, would answer 503 to most requests that arrive together, even at low load. Waiting for a worker, as {@link
 * OneNioWorkersVariant} does, costs a context switch for each request, and the selector serves no connection meanwhile.
 *
 * <p><b>Where it comes from.</b> {@code ThreadPoolExecutor} over a {@code SynchronousQueue} with its {@code
 * CallerRunsPolicy}; W. N. Scherer, D. Lea and M. L. Scott, "Scalable Synchronous Queues", PPoPP 2006.
 */
final class HandoffVariant implements Variant {

  static final String SUMMARY =
      "the selector thread hands the request to a waiting worker, or runs it itself if none waits";

  /** Passed to a worker instead of a request, so that the worker ends. */
  private static final Object END = new Object();

  private final SynchronousQueue<Object> hands = new SynchronousQueue<>();
  private final VariantSettings settings;
  private final Workers workers;

  HandoffVariant(VariantSettings settings) {
    this.settings = settings;
    workers = Workers.start(settings, number -> this::takeOne);
  }

  private boolean takeOne() throws InterruptedException {
    Object taken = hands.take();
    if (taken == END) {
      return false;
    }
    ((Request) taken).run();
    return true;
  }

  @Override
  public void submit(Request request) {
    if (!hands.offer(request)) {
      request.run();
    }
  }

  @Override
  public void close() {
    long deadline = System.nanoTime() + settings.closeNanosMax();
    boolean interrupted = false;
    for (int i = 0; i < settings.workers(); ) {
      try {
        boolean taken = hands.offer(END, deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
        i = taken ? i + 1 : settings.workers();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    workers.join(deadline);
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
