package lsmlab.server.variant;

import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinTask;
import java.util.concurrent.ForkJoinWorkerThread;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import lsmlab.server.request.Request;

/**
 * A fork-join pool in asynchronous mode runs the requests: it has several submission queues, and its workers steal from
 * all of them.
 *
 * <p><b>How a request travels.</b> Socket → selector thread → the submission queue that the thread hashes to → whichever
 * worker scans it first → storage → socket.
 *
 * <p><b>What it costs.</b> A task object for each request. Selector threads seldom contend, because each usually has
 * its own queue. A worker that finds no task scans all queues many times before it sleeps, so each needless wake-up
 * costs microseconds of CPU time, plus the system calls. A counter outside the pool bounds the number of waiting
 * requests.
 *
 * <p><b>Why the tasks have their own class.</b> The pool turns a {@code Runnable} into a task that can be interrupted
 * and that might wait for others. A worker that takes such a task while another one is waiting wakes one more worker,
 * until all are awake. Requests do not wait for each other. With a plain task the selector thread wakes a worker if its
 * queue seemed empty, and each worker wakes one more when it begins. That is enough to wake all workers if there is
 * work for all.
 *
 * <p><b>Where it comes from.</b> D. Lea, "A Java Fork/Join Framework", Java Grande 2000; asynchronous mode is meant for
 * events, and takes the oldest first.
 */
final class ForkJoinVariant extends CountedVariant {

  static final String SUMMARY =
      "a fork-join pool in asynchronous mode: each thread has a queue, and idle threads steal";

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

  /** A request as a task of the pool. Never cancelled or interrupted. */
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
