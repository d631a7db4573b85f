package lsmlab.server;

import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.Supplier;
import lsmlab.server.admin.AdminServer;
import lsmlab.server.admin.StoppingException;
import lsmlab.storage.Engine;
import lsmlab.storage.EngineStats;

/**
 * The admin port's way to the engine, which shuts before the engine is closed: the admin port answers until the end, and
 * no call may overlap {@link Engine#close}, least of all one into native code. Thread-safe.
 */
final class EngineDoor implements AdminServer.Actions {

  private final Engine engine;
  private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
  private volatile boolean shut;

  EngineDoor(Engine engine) {
    this.engine = engine;
  }

  /**
   * @throws StoppingException after {@link #shut}, as the actions do
   */
  EngineStats stats() {
    return through(engine::stats);
  }

  /**
   * @throws StoppingException as {@link #stats} does
   * @throws lsmlab.storage.ReadOnlyException as the engine does
   */
  void checkWritable() {
    through(engine::checkWritable);
  }

  @Override
  public void flush() {
    through(engine::flush);
  }

  @Override
  public void compact() {
    through(engine::compact);
  }

  @Override
  public void quiesce() {
    through(engine::quiesce);
  }

  @Override
  public void checkpoint(Path directory) {
    through(() -> engine.checkpoint(directory));
  }

  private void through(Runnable action) {
    through(
        () -> {
          action.run();
          return null;
        });
  }

  private <T> T through(Supplier<T> action) {
    // Never waits behind a writer that waits: that is shut(), and the answer is known then.
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
   * Lets nobody in from now on, and waits until whoever is inside has left.
   *
   * @return whether nobody is inside any more; a compaction may take longer than the timeout
   */
  boolean shut(long timeoutNanos) {
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
