package lsmlab.server.metrics;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** A {@link Recorder} for each platform thread that asks for one, and {@value #STRIPES} that virtual threads share. */
public final class Recorders {

  private static final int STRIPES = 16;

  private final List<Recorder> all = new CopyOnWriteArrayList<>();
  private final Recorder[] stripes = new Recorder[STRIPES];
  private final ThreadLocal<Recorder> own = ThreadLocal.withInitial(this::newRecorder);

  public Recorders() {
    for (int i = 0; i < STRIPES; i++) {
      stripes[i] = added(new Recorder(true));
    }
  }

  /**
   * Returns the recorder of this thread. Platform threads that call it should be long-lived, because their recorders
   * are never removed.
   */
  public Recorder current() {
    Thread thread = Thread.currentThread();
    return thread.isVirtual() ? stripes[(int) thread.threadId() & (STRIPES - 1)] : own.get();
  }

  private Recorder newRecorder() {
    return added(new Recorder(false));
  }

  /** Returns the sum of all recorders, as a new recorder. */
  Recorder total() {
    Recorder total = new Recorder(false);
    for (Recorder recorder : all) {
      recorder.addTo(total);
    }
    return total;
  }

  private Recorder added(Recorder recorder) {
    all.add(recorder);
    return recorder;
  }
}
