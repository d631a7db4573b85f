package lsmlab.server.variant;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes threads {@code worker-0}, {@code worker-1}, …. They either repeat a {@link Turn} until there is no more to do,
 * or belong to a pool that uses this factory. They are daemons, so that a stuck one cannot keep the process alive.
 */
final class Workers implements ThreadFactory {

  /** The work that a worker repeats. */
  @FunctionalInterface
  interface Turn {

    /** Waits for requests and completes them. Returns false if the worker must end. */
    boolean take() throws InterruptedException;
  }

  private static final Logger log = LoggerFactory.getLogger(Workers.class);

  private final List<Thread> threads = new CopyOnWriteArrayList<>();
  private final long joinNanosMax;

  /** Makes an object that has no threads yet. */
  Workers(VariantSettings settings) {
    joinNanosMax = settings.closeNanosMax();
  }

  /**
   * Starts as many threads as the settings say.
   *
   * @param turns returns the work of a worker, given the worker's number from 0
   */
  static Workers start(VariantSettings settings, IntFunction<Turn> turns) {
    Workers workers = new Workers(settings);
    for (int i = 0; i < settings.workers(); i++) {
      Turn turn = turns.apply(i);
      workers.newThread(() -> repeat(turn)).start();
    }
    return workers;
  }

  @Override
  public synchronized Thread newThread(Runnable task) {
    Thread thread = new Thread(task, "worker-" + threads.size());
    thread.setDaemon(true);
    threads.add(thread);
    return thread;
  }

  private static void repeat(Turn turn) {
    boolean more = true;
    while (more) {
      try {
        more = turn.take();
      } catch (Throwable e) {
        log.error("{} continues after an error", Thread.currentThread().getName(), e);
      }
    }
  }

  /** Waits until all threads have ended, but no longer than the settings allow. Logs those that have not. */
  void join() {
    join(System.nanoTime() + joinNanosMax);
  }

  /** Waits as {@link #join()} does, until a given deadline in {@link System#nanoTime} terms. */
  void join(long deadline) {
    boolean interrupted = false;
    for (Thread thread : threads) {
      long left;
      while (thread.isAlive() && (left = deadline - System.nanoTime()) > 0) {
        try {
          TimeUnit.NANOSECONDS.timedJoin(thread, Math.max(left, 1_000_000));
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
      if (thread.isAlive()) {
        logStuck(thread.getName(), joinNanosMax);
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Logs that a part of a variant has not ended in time. */
  static void logStuck(String what, long afterNanos) {
    log.error(
        "{} has not ended within {} ms; the service stops without it",
        what,
        TimeUnit.NANOSECONDS.toMillis(afterNanos));
  }
}
