package lsmlab.server;

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
  private boolean shut; // guarded by lock

  EngineDoor(Engine engine) {
    this.engine = engine;
  }

  /**
   * @throws StoppingException after {@link #shut}, as the actions do
   */
  EngineStats stats() {
    return through(engine::stats);
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

  private void through(Runnable action) {
    through(
        () -> {
          action.run();
          return null;
        });
  }

  private <T> T through(Supplier<T> action) {
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

  /** Returns when whoever is in the engine has left it; nobody gets in from then on. */
  void shut() {
    lock.writeLock().lock();
    shut = true;
    lock.writeLock().unlock();
  }
}
