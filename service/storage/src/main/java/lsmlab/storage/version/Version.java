package lsmlab.storage.version;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import lsmlab.storage.ValueSink;
import lsmlab.storage.concurrent.ReadGate;
import lsmlab.storage.cursor.Cursor;
import lsmlab.storage.memtable.Memtable;
import lsmlab.storage.stats.LookupCounts;
import lsmlab.storage.table.Lookup;

/**
 * The memtables and the tables that a read searches. The lists never change; only the active
 * memtable grows. Has a reference count, and holds one reference to each of its memtables and one
 * to its set of tables.
 */
public final class Version {

  private final Memtable active;
  private final Memtable[] sealed;
  private final TableSet tables;
  private final AtomicInteger references = new AtomicInteger(1);

  /**
   * Takes a reference to each part.
   *
   * @param sealed sealed memtables, newest first
   */
  public Version(Memtable active, List<Memtable> sealed, TableSet tables) {
    this.active = active;
    this.sealed = sealed.toArray(Memtable[]::new);
    this.tables = tables;
    assert isNewestFirst() : "memtables are not newest first";
    active.retain();
    for (Memtable memtable : this.sealed) {
      memtable.retain();
    }
    tables.retain();
  }

  private boolean isNewestFirst() {
    long newer = active.logNumber();
    for (Memtable memtable : sealed) {
      if (memtable.logNumber() >= newer) {
        return false;
      }
      newer = memtable.logNumber();
    }
    return true;
  }

  /** Looks up a key. Returns a constant of {@link Lookup}. */
  public int get(byte[] key, int keyOffset, int keyLength, ValueSink sink, LookupCounts counts) {
    int found = active.get(key, keyOffset, keyLength, sink);
    if (found != Lookup.ABSENT) {
      return found;
    }
    for (Memtable memtable : sealed) {
      found = memtable.get(key, keyOffset, keyLength, sink);
      if (found != Lookup.ABSENT) {
        return found;
      }
    }
    return tables.get(key, keyOffset, keyLength, sink, counts);
  }

  /** Returns a cursor for each part, newest first. */
  public List<Cursor> cursors(long sequenceMax) {
    List<Cursor> cursors = new ArrayList<>();
    cursors.add(active.cursor(sequenceMax));
    for (Memtable memtable : sealed) {
      cursors.add(memtable.cursor(sequenceMax));
    }
    tables.addCursors(cursors);
    return cursors;
  }

  public Memtable active() {
    return active;
  }

  public int sealedCount() {
    return sealed.length;
  }

  /** Returns the sealed memtables, newest first. */
  public List<Memtable> sealed() {
    return List.of(sealed);
  }

  public TableSet tables() {
    return tables;
  }

  public long memtableBytes() {
    long bytes = active.bytes();
    for (Memtable memtable : sealed) {
      bytes += memtable.bytes();
    }
    return bytes;
  }

  /**
   * Takes another reference. The caller holds one already, or is in a section of the {@link
   * ReadGate} that the holder waits for.
   */
  void retain() {
    int before = references.getAndIncrement();
    assert before > 0 : "a version was retained after its end";
  }

  /** Releases a reference. The last one releases the parts. */
  public void release() throws IOException {
    int left = references.decrementAndGet();
    assert left >= 0 : "a version was released too often";
    if (left == 0) {
      active.release();
      for (Memtable memtable : sealed) {
        memtable.release();
      }
      tables.release();
    }
  }
}
