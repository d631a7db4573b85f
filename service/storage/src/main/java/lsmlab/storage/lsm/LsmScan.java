package lsmlab.storage.lsm;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import lsmlab.storage.Scan;
import lsmlab.storage.ScanEndedException;
import lsmlab.storage.cursor.Cursor;
import lsmlab.storage.file.Bytes;

/**
 * The pairs of a range as of one moment: a merge of everything a version holds, without what was deleted.
 *
 * <p>The engine may end it between two calls of {@link #next}, from any thread, to free what it keeps. So the pair at the
 * cursor is copied out, and {@code next} says that it is inside before it asks whether the scan was ended, while {@link
 * #end} says that it is ended before it asks whether {@code next} is inside: one of them sees the other, and the version is
 * given back once. A value too large to copy keeps the scan inside until it moves on.
 */
final class LsmScan implements Scan {

  private static final int COPY_BYTES_MAX = 1 << 20;

  /** Free to be ended, inside {@link #next}, and given back. */
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
  private byte[] copy = new byte[512];
  private MemorySegment copySegment = MemorySegment.ofArray(copy).asReadOnly();
  private int keyLength;

  /** −1 if the pair was not copied. */
  private int valueLength;

  private boolean started;
  private boolean atPair;
  private boolean ended;
  private boolean closed;

  @SuppressWarnings("unused") // through STATE
  private int state;

  /** Why the engine ended it; null if it did not. */
  private volatile String endedBecause;

  /** Takes over a reference of the version. */
  LsmScan(Version version, Cursor cursor, OpenScans scans, byte[] from, byte[] to) {
    this.version = version;
    this.cursor = cursor;
    this.scans = scans;
    this.from = from;
    this.to = to;
    scans.add(this);
  }

  /** What it keeps; of use to those who compare, as it may be given back at any moment. */
  Version version() {
    return version;
  }

  @Override
  public boolean next() {
    if (closed) {
      throw new IllegalStateException("the scan is closed");
    }
    atPair = false;
    if (ended) {
      return false;
    }
    STATE.compareAndSet(this, FREE, INSIDE);
    if (endedBecause != null) {
      release();
      throw new ScanEndedException(endedBecause);
    }
    boolean more = started ? cursor.next() : cursor.seek(from);
    started = true;
    while (more && cursor.isTombstone()) {
      more = cursor.next();
    }
    atPair = more && isBeforeEnd();
    ended = !atPair;
    if (!atPair || copyPair()) {
      STATE.setVolatile(this, FREE);
      if (endedBecause != null) {
        release();
      }
    }
    return atPair;
  }

  private boolean isBeforeEnd() {
    return to == null
        || Bytes.compare(
                to, 0, to.length, cursor.keySegment(), cursor.keyOffset(), cursor.keyLength())
            > 0;
  }

  /** Returns whether the cursor's pair is small enough. */
  private boolean copyPair() {
    keyLength = cursor.keyLength();
    valueLength = cursor.valueLength();
    if (valueLength > COPY_BYTES_MAX) {
      valueLength = -1;
      return false;
    }
    int length = keyLength + valueLength;
    if (length > copy.length) {
      copy = Arrays.copyOf(copy, Math.max(length, 2 * copy.length));
      copySegment = MemorySegment.ofArray(copy).asReadOnly();
    }
    MemorySegment.copy(
        cursor.keySegment(), ValueLayout.JAVA_BYTE, cursor.keyOffset(), copy, 0, keyLength);
    MemorySegment.copy(
        cursor.valueSegment(),
        ValueLayout.JAVA_BYTE,
        cursor.valueOffset(),
        copy,
        keyLength,
        valueLength);
    return true;
  }

  @Override
  public MemorySegment key() {
    checkAtPair();
    return valueLength < 0
        ? cursor.keySegment().asSlice(cursor.keyOffset(), keyLength).asReadOnly()
        : copySegment.asSlice(0, keyLength);
  }

  @Override
  public MemorySegment value() {
    checkAtPair();
    return valueLength < 0
        ? cursor.valueSegment().asSlice(cursor.valueOffset(), cursor.valueLength()).asReadOnly()
        : copySegment.asSlice(keyLength, valueLength);
  }

  private void checkAtPair() {
    if (!atPair) {
      throw new IllegalStateException("the scan is not at a pair");
    }
  }

  /**
   * Ends it for good; by any thread. What it keeps is given back at once, or by its own thread, which is about to look.
   *
   * @return whether it was given back at once
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
