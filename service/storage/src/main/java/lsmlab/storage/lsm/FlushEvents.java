package lsmlab.storage.lsm;

import lsmlab.storage.stats.LevelTraffic;

/** Tells the rest of the engine what the {@link Flusher} does. Called by flush threads. */
final class FlushEvents implements Flusher.Listener {

  private final WalPreallocator walPreallocator;
  private final LevelTraffic traffic;
  private final WriteController controller;
  private final Compactor compactor;
  private final Runnable tablesChanged;

  /**
   * @param tablesChanged called after each publication, before the compactor is told
   */
  FlushEvents(
      WalPreallocator walPreallocator,
      LevelTraffic traffic,
      WriteController controller,
      Compactor compactor,
      Runnable tablesChanged) {
    this.walPreallocator = walPreallocator;
    this.traffic = traffic;
    this.controller = controller;
    this.compactor = compactor;
    this.tablesChanged = tablesChanged;
  }

  @Override
  public void taken() {
    walPreallocator.prepare();
  }

  @Override
  public void building() {
    walPreallocator.prepare();
  }

  @Override
  public void built(long bytes, long nanos) {
    traffic.addWritten(0, bytes);
    controller.flushed(bytes, nanos);
  }

  @Override
  public void published() {
    tablesChanged.run();
    compactor.tablesChanged();
  }
}
