package lsmlab.server.variant;

import java.util.concurrent.SynchronousQueue;

/**
 * The selector thread hands each request to a worker that waits for one; where none does, it runs the request itself.
 *
 * <p><b>How a request travels.</b> Socket → selector thread → a waiting worker's hands → storage → socket. When all workers are
 * busy: socket → selector thread → storage → socket, as in {@link SyncVariant}. Nothing ever waits in between.
 *
 * <p><b>What it costs.</b> A wake-up for each request that is handed over. There is no queue, so there is no queueing delay and
 * nothing to reject: {@code queue_capacity} and {@code queue_policy} say nothing here. A selector thread's turn brings up to 64
 * requests at once, of which the workers take as many as wait; that the selector thread runs the others keeps it from
 * reading more than the service can do, so an overload waits in the clients' sockets, where TCP holds it back. The price is
 * that one slow request, run by the selector thread because all workers were busy, holds up all of its connections.
 *
 * <p><b>What did not work.</b> Rejecting what no worker waits for, as {@code ThreadPoolExecutor} does unless told otherwise: of
 * a turn's requests most were answered 503 however little there was to do, and their connections held off. Waiting until a
 * worker is free: a change of context for every request, and the selector thread serves nobody meanwhile.
 *
 * <p><b>Where it comes from.</b> {@code ThreadPoolExecutor} over a {@code SynchronousQueue} with its {@code CallerRunsPolicy}; W.
 * N. Scherer, D. Lea and M. L. Scott, "Scalable Synchronous Queues", PPoPP 2006.
 */
final class SynchronousVariant extends BlockingQueueVariant {

  static final String SUMMARY =
      "a waiting worker gets the request from hand to hand; where none waits, the selector thread runs it";

  private final SynchronousQueue<Request> hands;

  SynchronousVariant(VariantSettings settings) {
    this(new SynchronousQueue<>(), settings);
  }

  private SynchronousVariant(SynchronousQueue<Request> hands, VariantSettings settings) {
    super(hands, settings.workers(), 0);
    this.hands = hands;
  }

  @Override
  public void submit(Request request) {
    if (!hands.offer(request)) {
      request.run();
    }
  }
}
