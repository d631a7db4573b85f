package lsmlab.server.variant;

import java.util.ArrayList;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Threads {@code worker-0}, {@code worker-1}, … that run requests until their source says that there are no more.
 *
 * <p>Not an executor: there is no future to hold an exception that nobody asks for, no task object for each request,
 * and no interrupt.
 */
final class Workers {

  /** Where a worker gets its next request from. */
  @FunctionalInterface
  interface Source {

    /** The next request, or null when the worker shall end; waits where there is none. */
    Request next() throws InterruptedException;
  }

  private static final Logger log = LoggerFactory.getLogger(Workers.class);

  private final Limit limit;
  private final List<Thread> threads = new ArrayList<>();

  /** Makes one without threads, whose threads run whatever they get. */
  Workers() {
    this(Limit.REJECT_NEWEST);
  }

  /** Makes one without threads; the limit says which requests are too late to be run. */
  Workers(Limit limit) {
    this.limit = limit;
  }

  /** Starts {@code count} threads that share one source. */
  static Workers start(int count, Limit limit, Source source) {
    Workers workers = new Workers(limit);
    for (int i = 0; i < count; i++) {
      workers.add(source);
    }
    return workers;
  }

  /** Starts one more thread, with a source of its own. */
  Thread add(Source source) {
    Thread thread = new Thread(() -> work(source), "worker-" + threads.size());
    threads.add(thread);
    thread.start();
    return thread;
  }

  /** Threads started so far. */
  int count() {
    return threads.size();
  }

  /** Returns when all have ended. */
  void join() {
    boolean interrupted = false;
    for (Thread thread : threads) {
      while (thread.isAlive()) {
        try {
          thread.join();
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private void work(Source source) {
    while (true) {
      try {
        Request request = source.next();
        if (request == null) {
          return;
        }
        limit.run(request);
      } catch (Throwable e) {
        log.error("{} goes on after an error", Thread.currentThread().getName(), e);
      }
    }
  }
}
