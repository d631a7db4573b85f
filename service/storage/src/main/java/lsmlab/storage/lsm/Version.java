package lsmlab.storage.lsm;

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
 * Everything a reader needs at one moment: the memtables and the tables. Immutable but for the content of the active
 * memtable. Counted by reference; it holds one reference of each of its memtables and tables.
 */
final class Version {

  private final Memtable active;
  private final Memtable[] sealed;
  private final TableSet tables;
  private final AtomicInteger references = new AtomicInteger(1);

  /**
   * Takes a reference of each part.
   *
   * @param sealed newest first
   */
  Version(Memtable active, List<Memtable> sealed, TableSet tables) {
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

  /** Looks a key up; one of {@link Lookup}'s. */
  int get(byte[] key, int keyOffset, int keyLength, ValueSink sink, LookupCounts counts) {
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

  /** Cursors over all parts, newest first. */
  List<Cursor> cursors(long sequenceMax) {
    List<Cursor> cursors = new ArrayList<>();
    cursors.add(active.cursor(sequenceMax));
    for (Memtable memtable : sealed) {
      cursors.add(memtable.cursor(sequenceMax));
    }
    tables.addCursors(cursors);
    return cursors;
  }

  Memtable active() {
    return active;
  }

  int sealedCount() {
    return sealed.length;
  }

  /** Newest first. */
  List<Memtable> sealed() {
    return List.of(sealed);
  }

  TableSet tables() {
    return tables;
  }

  long memtableBytes() {
    long bytes = active.bytes();
    for (Memtable memtable : sealed) {
      bytes += memtable.bytes();
    }
    return bytes;
  }

  /** Takes another reference; only by someone who holds one or whose {@link ReadGate} section the holder waits for. */
  void retain() {
    int before = references.getAndIncrement();
    assert before > 0 : "a version was retained after its end";
  }

  /** Gives a reference back; the last one gives the parts back. */
  void release() throws IOException {
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
