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
 * queue. Workers that find nothing scan all queues many times before they sleep, so each wake-up in vain costs microseconds
 * of CPU, beside the system calls. A counter beside the pool bounds what waits.
 *
 * <p><b>Why the tasks have a class of their own.</b> A {@code Runnable} becomes a task that can be interrupted, and such a task
 * might wait for others: a worker that takes one with another behind it wakes one more worker, until all are awake.
 * Requests do not wait for each other. With a plain task the selector thread wakes a worker if its queue seemed empty, and each worker
 * wakes one more when it begins: enough to have all of them at work if there is work for all.
 *
 * <p><b>Where it comes from.</b> D. Lea, "A Java Fork/Join Framework", Java Grande 2000; asynchronous mode is the one
 * for events, oldest first.
 */
final class ForkJoinVariant extends CountedVariant {

  static final String SUMMARY = "a fork-join pool in asynchronous mode: queues by thread, stealing";

  private final AtomicInteger names = new AtomicInteger();
  private final ForkJoinPool pool;

  ForkJoinVariant(VariantSettings settings) {
    super(settings);
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
  boolean schedule(Request request) {
    pool.execute(new Task(request));
    return true;
  }

  @Override
  public void close() {
    super.close();
    pool.shutdown();
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
      ForkJoinVariant.this.run(request);
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
