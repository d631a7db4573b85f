package lsmlab.storage.version;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import lsmlab.storage.Scan;
import lsmlab.storage.ScanEndedException;
import lsmlab.storage.cursor.Cursor;
import lsmlab.storage.file.Bytes;

/**
 * The pairs of a range at one moment: merges all memtables and tables of a version, and skips
 * deleted keys.
 *
 * <p>Any thread of the engine may end the scan while it is paused, to free the memory and files
 * that it keeps alive. Protocol: {@link #resume}, with which {@link #next} begins, first sets the
 * state to inside, then checks whether the scan was ended; {@link #end} first marks the scan as
 * ended, then checks whether the state is inside. So at least one of them sees the other, and the
 * version is released exactly once.
 *
 * <p>The scan copies nothing. When {@code next} copied each pair, so that the scan could be ended
 * between any two calls, a thousand clients that read nothing kept a thousand copies of 1 MiB.
 */
public final class LsmScan implements Scan {

  /** The scan has not begun, is paused or is at its end: {@link #end} may release the version. */
  private static final int FREE = 0;

  private static final int INSIDE = 1;
  private static final int RELEASED = 2;
  private static final VarHandle STATE;

  static {
    try {
      STATE = MethodHandles.lookup().findVarHandle(LsmScan.class, "state", int.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final Version version;
  private final Cursor cursor;
  private final OpenScans scans;
  private final byte[] from;
  private final byte[] to;
  private boolean started;
  private boolean atPair;
  private boolean ended;
  private boolean closed;

  @SuppressWarnings("unused") // through STATE
  private int state;

  /** Why the engine ended the scan; null if it has not. */
  private volatile String endedBecause;

  /** Takes over the caller's reference to the version. */
  public LsmScan(Version version, Cursor cursor, OpenScans scans, byte[] from, byte[] to) {
    this.version = version;
    this.cursor = cursor;
    this.scans = scans;
    this.from = from;
    this.to = to;
    scans.add(this);
  }

  /**
   * Returns the version that the scan keeps alive. The caller may only compare it, because it may
   * be released at any moment.
   */
  Version version() {
    return version;
  }

  @Override
  public boolean next() {
    if (closed) {
      throw new IllegalStateException("the scan is closed");
    }
    if (ended) {
      return false;
    }
    resume();
    atPair = false;
    boolean more = started ? cursor.next() : cursor.seek(from);
    started = true;
    while (more && cursor.isTombstone()) {
      more = cursor.next();
    }
    atPair = more && isBeforeEnd();
    ended = !atPair;
    if (ended) {
      pause();
    }
    return atPair;
  }

  private boolean isBeforeEnd() {
    return to == null
        || Bytes.compare(
                to, 0, to.length, cursor.keySegment(), cursor.keyOffset(), cursor.keyLength())
            > 0;
  }

  @Override
  public void pause() {
    if (started) {
      cursor.pause(PAUSED_BYTES_MAX);
    }
    STATE.compareAndSet(this, INSIDE, FREE);
    if (endedBecause != null) {
      release();
    }
  }

  @Override
  public void resume() {
    boolean paused = STATE.compareAndSet(this, FREE, INSIDE);
    if (endedBecause != null) {
      release();
      throw new ScanEndedException(endedBecause);
    }
    if (paused && atPair) {
      cursor.resume();
    }
  }

  @Override
  public MemorySegment key() {
    checkAtPair();
    return cursor.keySegment().asSlice(cursor.keyOffset(), cursor.keyLength()).asReadOnly();
  }

  @Override
  public MemorySegment value() {
    checkAtPair();
    return cursor.valueSegment().asSlice(cursor.valueOffset(), cursor.valueLength()).asReadOnly();
  }

  private void checkAtPair() {
    if (!atPair) {
      throw new IllegalStateException("the scan is not at a pair");
    }
  }

  /**
   * Ends the scan. Any thread may call this. Releases the version at once, or lets the scan's own
   * thread release it in {@link #pause} or {@link #next}.
   *
   * @param because the reason, for the exception that {@link #next} throws
   * @return whether the version was released at once
   */
  boolean end(String because) {
    endedBecause = because;
    return release(FREE);
  }

  private void release() {
    if (!release(FREE)) {
      release(INSIDE);
    }
    scans.remove(this);
  }

  private boolean release(int expected) {
    boolean mine = STATE.compareAndSet(this, expected, RELEASED);
    if (mine) {
      VersionSet.releaseQuietly(version);
    }
    return mine;
  }

  @Override
  public void close() {
    if (!closed) {
      closed = true;
      atPair = false;
      release();
    }
  }
}
