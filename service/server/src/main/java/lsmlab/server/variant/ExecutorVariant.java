package lsmlab.server.variant;

import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingDeque;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.LinkedTransferQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import lsmlab.server.request.Rejection;
import lsmlab.server.request.Request;
import lsmlab.server.variant.queue.WaitingCount;

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
 * <p>Its subclasses differ only in the queue: {@link OnArray}, {@link OnStack}, {@link OnDeque} and {@link OnMsQueue}. {@link OneNioWorkersVariant} has such a pool on a {@code
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

  /**
   * A {@link java.util.concurrent.ThreadPoolExecutor} on an {@link ArrayBlockingQueue} runs the requests, oldest first.
   *
   * <p><b>How a request travels.</b> As in {@link ExecutorVariant}.
   *
   * <p><b>What it costs.</b> A task object for each request, but no queue node. Selectors and workers share one lock, which
   * {@link java.util.concurrent.LinkedBlockingQueue} has twice. {@link ArrayQueueVariant} has the same queue without the
   * pool.
   *
   * <p><b>Where it comes from.</b> The usual bounded pool of Java services that avoid the allocation of nodes.
   */
  static final class OnArray extends ExecutorVariant {

    static final String SUMMARY = "a ThreadPoolExecutor on an ArrayBlockingQueue";

    OnArray(VariantSettings settings) {
      super(settings, new ArrayBlockingQueue<>(settings.queueCapacity()));
    }
  }

  /**
   * A {@link java.util.concurrent.ThreadPoolExecutor} on a {@link LinkedBlockingDeque} runs the requests, newest first.
   *
   * <p><b>How a request travels.</b> As in {@link ExecutorVariant}, but a pool thread takes the request that was added
   * last.
   *
   * <p><b>What it costs.</b> As {@link OnDeque}. Under overload some requests wait until the load falls, as in
   * {@link StackVariant}, which has the same deque without the pool.
   *
   * <p><b>Where it comes from.</b> A pool calls only {@code offer} and {@code take}, so a deque whose {@code take} removes
   * the last element turns it into a stack.
   */
  static final class OnStack extends ExecutorVariant {

    static final String SUMMARY = "a ThreadPoolExecutor on a LinkedBlockingDeque, newest first";

    OnStack(VariantSettings settings) {
      super(settings, new Newest(settings.queueCapacity()));
    }

    /** A deque that adds and removes at its tail, for a pool whose threads only call {@code take}. */
    private static final class Newest extends LinkedBlockingDeque<Runnable> {
      private static final long serialVersionUID = 1L;

      Newest(int capacity) {
        super(capacity);
      }

      @Override
      public Runnable take() throws InterruptedException {
        return takeLast();
      }
    }
  }

  /**
   * A {@link java.util.concurrent.ThreadPoolExecutor} on a {@link LinkedBlockingDeque} runs the requests, oldest first.
   *
   * <p><b>How a request travels.</b> As in {@link ExecutorVariant}.
   *
   * <p><b>What it costs.</b> A task object and a queue node for each request, and one lock for both ends.
   *
   * <p><b>Where it comes from.</b> The control between {@link ExecutorVariant}, which has the same order but another
   * class, and {@link OnStack}, which has the same class but the opposite order.
   */
  static final class OnDeque extends ExecutorVariant {

    static final String SUMMARY = "a ThreadPoolExecutor on a LinkedBlockingDeque, oldest first";

    OnDeque(VariantSettings settings) {
      super(settings, new LinkedBlockingDeque<>(settings.queueCapacity()));
    }
  }

  /**
   * A {@link java.util.concurrent.ThreadPoolExecutor} on a non-blocking queue of Michael and Scott runs the requests,
   * oldest first.
   *
   * <p><b>How a request travels.</b> As in {@link ExecutorVariant}, through a {@link LinkedTransferQueue}.
   *
   * <p><b>What it costs.</b> A task object and a queue node for each request, and compare-and-set instead of locks. An idle
   * worker appends a node that asks for a request, spins briefly, and parks; the selector that fills the node wakes the
   * worker that has waited longest. No thread ever holds a lock of the queue. The queue has no bound; a separate counter,
   * which all threads write, bounds it.
   *
   * <p><b>Where it comes from.</b> M. M. Michael and M. L. Scott, "Simple, Fast, and Practical Non-Blocking and Blocking
   * Concurrent Queue Algorithms", PODC 1996, with the waiting takers of W. N. Scherer and M. L. Scott, "Nonblocking
   * Concurrent Data Structures with Condition Synchronization", DISC 2004. {@link MsQueueVariant} has such a queue without
   * the pool.
   */
  static final class OnMsQueue extends ExecutorVariant {

    static final String SUMMARY = "a ThreadPoolExecutor on a non-blocking Michael-Scott queue";

    OnMsQueue(VariantSettings settings) {
      super(settings, new Bounded(new WaitingCount(settings.queueCapacity())));
    }

    /** A queue that counts its elements, for a pool whose threads only call {@code take}. */
    private static final class Bounded extends LinkedTransferQueue<Runnable> {
      private static final long serialVersionUID = 1L;

      private final transient WaitingCount waiting;

      Bounded(WaitingCount waiting) {
        this.waiting = waiting;
      }

      @Override
      public boolean offer(Runnable task) {
        return waiting.enter() && super.offer(task);
      }

      @Override
      public Runnable take() throws InterruptedException {
        Runnable task = super.take();
        waiting.leave();
        return task;
      }

      /** Returns the count, because the queue would have to visit every node. */
      @Override
      public int size() {
        return waiting.get();
      }
    }
  }
}
