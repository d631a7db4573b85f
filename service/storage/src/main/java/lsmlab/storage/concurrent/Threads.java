package lsmlab.storage.concurrent;

import java.util.concurrent.CountDownLatch;

/**
 * Creates and joins the threads of an engine. Never interrupt them while they may do I/O, because
 * an interrupt closes the channel for all threads.
 */
public final class Threads {

  private Threads() {}

  public static Thread daemon(String name, Runnable body) {
    Thread thread = new Thread(body, name);
    thread.setDaemon(true);
    return thread;
  }

  /** Makes a daemon thread with a lower CPU priority than threads that serve requests. */
  public static Thread background(String name, Runnable body) {
    return daemon(
        name,
        () -> {
          CpuPriority.lowerForThisThread();
          body.run();
        });
  }

  /**
   * Waits until the thread ends. If the caller is interrupted meanwhile, sets its interrupt flag
   * again before it returns.
   */
  public static void join(Thread thread) {
    boolean interrupted = false;
    while (true) {
      try {
        thread.join();
        break;
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /**
   * Waits for the latch. If the caller is interrupted meanwhile, sets its interrupt flag again
   * before it returns.
   */
  public static void await(CountDownLatch latch) {
    boolean interrupted = false;
    while (true) {
      try {
        latch.await();
        break;
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
