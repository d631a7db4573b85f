package lsmlab.storage;

import java.lang.foreign.MemorySegment;
import lsmlab.storage.cursor.Cursor;
import lsmlab.storage.file.Bytes;

/** The pairs of a range as of one moment: a merge of everything a version holds, without what was deleted. */
final class LsmScan implements Scan {

  private final Version version;
  private final Cursor cursor;
  private final byte[] from;
  private final byte[] to;
  private boolean started;
  private boolean atPair;
  private boolean ended;
  private boolean closed;

  /** Takes over a reference of the version. */
  LsmScan(Version version, Cursor cursor, byte[] from, byte[] to) {
    this.version = version;
    this.cursor = cursor;
    this.from = from;
    this.to = to;
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
    boolean more = started ? cursor.next() : cursor.seek(from);
    started = true;
    while (more && cursor.isTombstone()) {
      more = cursor.next();
    }
    atPair = more && isBeforeEnd();
    ended = !atPair;
    return atPair;
  }

  private boolean isBeforeEnd() {
    return to == null
        || Bytes.compare(
                to, 0, to.length, cursor.keySegment(), cursor.keyOffset(), cursor.keyLength())
            > 0;
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

  @Override
  public void close() {
    if (!closed) {
      closed = true;
      atPair = false;
      Versions.releaseQuietly(version);
    }
  }
}
