package lsmlab.server;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.Supplier;
import lsmlab.server.admin.AdminServer;
import lsmlab.server.admin.StoppingException;
import lsmlab.storage.Engine;
import lsmlab.storage.EngineStats;

/**
 * Guards the engine for the admin port, which serves until the service ends. Once shut, it refuses calls, because none
 * may overlap {@link Engine#close}. Thread-safe.
 */
final class EngineGuard implements AdminServer.Actions {

  private final Engine engine;
  private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
  private volatile boolean shut;

  EngineGuard(Engine engine) {
    this.engine = engine;
  }

  /**
   * @throws StoppingException after {@link #shut}; the actions throw it too
   */
  EngineStats stats() {
    return guarded(engine::stats);
  }

  /**
   * @throws StoppingException after {@link #shut}
   * @throws lsmlab.storage.ReadOnlyException if the store takes no writes until it is opened again
   */
  void checkWritable() {
    guarded(engine::checkWritable);
  }

  @Override
  public void flush() {
    guarded(engine::flush);
  }

  @Override
  public void compact() {
    guarded(engine::compact);
  }

  @Override
  public void quiesce() {
    guarded(engine::quiesce);
  }

  private void guarded(Runnable action) {
    guarded(
        () -> {
          action.run();
          return null;
        });
  }

  private <T> T guarded(Supplier<T> action) {
    // Never waits behind a waiting writer: the writer is shut(), and after it every call is
    // refused.
    if (!lock.readLock().tryLock()) {
      throw new StoppingException();
    }
    try {
      if (shut) {
        throw new StoppingException();
      }
      return action.get();
    } finally {
      lock.readLock().unlock();
    }
  }

  /**
   * Refuses calls from now on, and waits until those in progress have returned.
   *
   * @param timeoutNanos longest wait in nanoseconds; a compaction may take longer
   * @return whether no call is in progress any longer
   */
  boolean shut(long timeoutNanos) {
    assert lock.getReadHoldCount() == 0 : "a call in progress would wait for itself";
    shut = true;
    try {
      if (lock.writeLock().tryLock(timeoutNanos, TimeUnit.NANOSECONDS)) {
        lock.writeLock().unlock();
        return true;
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    return false;
  }
}
