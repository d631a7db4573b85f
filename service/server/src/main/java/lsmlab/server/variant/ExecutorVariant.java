package lsmlab.server.variant;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import lsmlab.server.request.Rejection;
import lsmlab.server.request.Request;

/**
 * A {@link ThreadPoolExecutor} on a bounded {@link LinkedBlockingQueue} runs the requests, oldest first.
 *
 * <p><b>How a request travels.</b> Socket → selector thread → {@code execute} → queue → a pool thread → storage →
 * socket.
 *
 * <p><b>What it costs.</b> A task object and a queue node for each request. Idle threads block in {@code take()}, so a
 * selector that adds a request wakes one while it holds the queue's lock, and a profile shows {@code
 * ThreadPoolExecutor.getTask}, {@code LinkedBlockingQueue.take} and {@code AbstractQueuedSynchronizer}. {@link
 * QueueVariant} has the same queue without the pool: the difference between the two is the cost of the executor.
 *
 * <p><b>Where it comes from.</b> The pool that {@code Executors.newFixedThreadPool} makes, with a bound, and with a 503
 * for each rejection by {@code AbortPolicy}. Most Java services pass requests to threads in this way.
 *
 * <p>Its subclasses differ only in the queue: {@link ExecutorArrayVariant}, {@link ExecutorStackVariant}, {@link
 * ExecutorDequeVariant} and {@link ExecutorMsQueueVariant}. {@link OneNioWorkersVariant} has such a pool on a {@code
 * SynchronousQueue}.
 */
class ExecutorVariant implements Variant {

  static final String SUMMARY =
      "a ThreadPoolExecutor on a LinkedBlockingQueue, as in most services";

  private final ThreadPoolExecutor pool;
  private final OverloadPolicy overload;
  private final Workers workers;
  private final int capacity;

  ExecutorVariant(VariantSettings settings) {
    this(settings, new LinkedBlockingQueue<>(settings.queueCapacity()));
  }

  /**
   * Makes a pool on another queue.
   *
   * @param queue its {@code offer} returns false if {@link VariantSettings#queueCapacity} tasks wait, and its {@code
   *     take} decides which task runs next; a pool of fixed size adds and removes tasks by no other method
   */
  ExecutorVariant(VariantSettings settings, BlockingQueue<Runnable> queue) {
    capacity = settings.queueCapacity();
    overload = new OverloadPolicy(settings);
    workers = new Workers(settings);
    pool =
        new ThreadPoolExecutor(
            settings.workers(),
            settings.workers(),
            0,
            TimeUnit.SECONDS,
            queue,
            workers,
            (task, full) -> ((Task) task).request().reject(Rejection.QUEUE_FULL));
    pool.prestartAllCoreThreads();
  }

  /** A request as a task of the pool. */
  private record Task(Request request, OverloadPolicy overload) implements Runnable {
    @Override
    public void run() {
      overload.run(request);
    }
  }

  @Override
  public final void submit(Request request) {
    pool.execute(new Task(request, overload));
  }

  @Override
  public final int queueDepth() {
    return pool.getQueue().size();
  }

  @Override
  public final int queueCapacity() {
    return capacity;
  }

  /**
   * Ends the pool. Interrupts only threads that wait for a task: an interrupt would close the file that a thread is
   * reading.
   */
  @Override
  public final void close() {
    pool.shutdown();
    workers.join();
  }
}
