package lsmlab.server.variant;

import java.util.concurrent.RejectedExecutionException;
import lsmlab.server.request.Request;
import one.nio.server.Server;
import one.nio.server.ServerConfig;

/**
 * The HTTP library's own worker pool runs the requests.
 *
 * <p><b>How a request travels.</b> Socket → selector thread → {@link Server#asyncExecute} → a waiting pool thread →
 * storage → socket. The pool has no queue.
 *
 * <p><b>What it costs.</b> A task object and a wake-up for each request. When all workers are busy, the selector thread
 * waits for one, up to {@value #QUEUE_MILLIS} ms, and serves none of its connections meanwhile; then the request is
 * answered 503. That wait is the library's {@code queueTime}, and this is the only variant whose submit waits. Without
 * the wait, most of the requests that arrive together would be rejected, even at low load. {@code queue_capacity} and
 * {@code queue_policy} have no effect. The pool's threads are named {@code NIO Worker #N}.
 *
 * <p><b>Where it comes from.</b> one-nio, whose users call {@code asyncExecute} in their handlers. Its pool is a {@code
 * ThreadPoolExecutor} on a {@code SynchronousQueue}.
 */
final class OneNioWorkersVariant extends CountedVariant {

  static final String SUMMARY =
      "one-nio's own worker pool; the selector thread waits for a free worker";

  /** Number of milliseconds for which a selector thread waits for a worker. */
  private static final int QUEUE_MILLIS = 1;

  private final int workers;
  private Server server;

  OneNioWorkersVariant(VariantSettings settings) {
    super(settings, Integer.MAX_VALUE); // the selectors themselves wait, so they bound the number
    workers = settings.workers();
  }

  @Override
  public void configure(ServerConfig config) {
    config.minWorkers = workers;
    config.maxWorkers = workers;
    config.queueTime = QUEUE_MILLIS;
  }

  @Override
  public void attach(Server bound) {
    server = bound;
  }

  @Override
  boolean schedule(Request request) {
    try {
      server.asyncExecute(() -> run(request));
      return true;
    } catch (RejectedExecutionException e) {
      return false;
    }
  }

  @Override
  public int queueDepth() {
    return 0;
  }

  @Override
  public int queueCapacity() {
    return 0;
  }
}
