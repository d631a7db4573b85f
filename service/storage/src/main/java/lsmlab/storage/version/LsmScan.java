package lsmlab.storage.version;

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
 * The pairs of a range at one moment: merges all memtables and tables of a version, and skips
 * deleted keys.
 *
 * <p>Any thread of the engine may end the scan between two calls of {@link #next}, to free the
 * memory and files that it keeps alive. So {@code next} copies the pair at the cursor. Protocol:
 * {@code next} first sets the state to inside, then checks whether the scan was ended; {@link #end}
 * first marks the scan as ended, then checks whether {@code next} is inside. So at least one of
 * them sees the other, and the version is released exactly once. If a value is too large to copy,
 * the state stays inside until the scan moves on.
 */
public final class LsmScan implements Scan {

  private static final int COPY_BYTES_MAX = 1 << 20;

  /** No thread is inside {@link #next}: {@link #end} may release the version. */
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

  /** Length of the copied value; −1 if the pair was not copied. */
  private int valueLength;

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

  /** Copies the pair at the cursor. Returns false if its value is too large. */
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
   * Ends the scan. Any thread may call this. Releases the version at once, or lets the scan's own
   * thread release it at the end of {@link #next}.
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
