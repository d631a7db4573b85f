package lsmlab.storage.concurrent;

import java.util.concurrent.CountDownLatch;

/** Threads of an engine. They are never interrupted while they may do I/O: that would close the channel for everyone. */
public final class Threads {

  private Threads() {}

  public static Thread daemon(String name, Runnable body) {
    Thread thread = new Thread(body, name);
    thread.setDaemon(true);
    return thread;
  }

  /** A daemon that gives way to threads that serve. */
  public static Thread background(String name, Runnable body) {
    return daemon(
        name,
        () -> {
          CpuPriority.lowerForThisThread();
          body.run();
        });
  }

  /** Waits for the thread's end; an interrupt of the caller is kept for later. */
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

  /** Waits for the latch; an interrupt of the caller is kept for later. */
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
