package lsmlab.server.variant;

import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinTask;
import java.util.concurrent.ForkJoinWorkerThread;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A fork-join pool in asynchronous mode runs the requests: several submission queues, and workers that steal.
 *
 * <p><b>How a request travels.</b> Socket → selector thread → the submission queue that the thread hashes to → whichever
 * worker scans it first → storage → socket.
 *
 * <p><b>What it costs.</b> A task object for each request. Selector threads seldom meet each other, because each has a
 * queue; workers that find nothing scan all queues many times before they sleep, so each wake-up in vain costs microseconds
 * of CPU, beside the system calls. The bound on what waits is a counter beside the pool, because the pool has none.
 *
 * <p><b>Why tasks of a class of its own.</b> A {@code Runnable} becomes a task that can be interrupted, and such a task
 * might wait for others: a worker that takes one with another behind it wakes one more worker, until all are awake.
 * Requests wait for nobody. With a plain task the selector thread wakes a worker where its queue seemed empty, and each
 * worker one more when it begins: enough to have all of them at work if there is work for all.
 *
 * <p><b>Where it comes from.</b> D. Lea, "A Java Fork/Join Framework", Java Grande 2000; asynchronous mode is the one
 * for events, oldest first.
 */
final class ForkJoinVariant implements Variant {

  static final String SUMMARY = "a fork-join pool in asynchronous mode: queues by thread, stealing";

  private final int capacity;
  private final Limit limit;
  private final AtomicInteger waiting = new AtomicInteger();
  private final AtomicInteger names = new AtomicInteger();
  private final ForkJoinPool pool;

  ForkJoinVariant(VariantSettings settings) {
    capacity = settings.queueCapacity();
    limit = new Limit(settings);
    int workers = settings.workers();
    pool =
        new ForkJoinPool(
            workers, this::thread, null, true, workers, workers, 1, null, 1, TimeUnit.DAYS);
  }

  private ForkJoinWorkerThread thread(ForkJoinPool of) {
    ForkJoinWorkerThread thread = ForkJoinPool.defaultForkJoinWorkerThreadFactory.newThread(of);
    thread.setName("worker-" + names.getAndIncrement());
    return thread;
  }

  @Override
  public void submit(Request request) {
    if (waiting.incrementAndGet() > capacity) {
      waiting.decrementAndGet();
      request.reject(Rejection.QUEUE_FULL);
      return;
    }
    pool.execute(new Task(request));
  }

  @Override
  public int queueDepth() {
    return Math.clamp(waiting.get(), 0, capacity);
  }

  @Override
  public int queueCapacity() {
    return capacity;
  }

  @Override
  public void close() {
    pool.close();
  }

  /** A request in the pool; never cancelled or interrupted. */
  private final class Task extends ForkJoinTask<Void> {
    private static final long serialVersionUID = 1L;

    private final transient Request request;

    Task(Request request) {
      this.request = request;
    }

    @Override
    protected boolean exec() {
      waiting.decrementAndGet();
      limit.run(request);
      return true;
    }

    @Override
    public Void getRawResult() {
      return null;
    }

    @Override
    protected void setRawResult(Void nothing) {}
  }
}
