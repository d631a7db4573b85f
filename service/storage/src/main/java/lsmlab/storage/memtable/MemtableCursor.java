package lsmlab.storage.memtable;

import java.lang.foreign.MemorySegment;
import lsmlab.storage.cursor.Cursor;
import lsmlab.storage.file.Bytes;

/** Walks a memtable as it was after the write with a given sequence number. */
final class MemtableCursor implements Cursor {

  private final Memtable memtable;
  private final long sequenceMax;
  private MemorySegment chunk;
  private long at;
  private int node;

  MemtableCursor(Memtable memtable, long sequenceMax) {
    this.memtable = memtable;
    this.sequenceMax = sequenceMax;
  }

  @Override
  public boolean seek(byte[] key) {
    int first = key == null || key.length == 0 ? memtable.first() : memtable.firstFrom(key);
    return settle(first);
  }

  @Override
  public boolean next() {
    int next = memtable.next(node, 0);
    while (next != Memtable.NONE && sameKey(next)) {
      next = memtable.next(next, 0);
    }
    return settle(next);
  }

  /** Moves to the first node at or after the candidate whose sequence number is not too great. */
  private boolean settle(int candidate) {
    node = candidate;
    while (node != Memtable.NONE) {
      chunk = memtable.chunk(node);
      at = Memtable.place(node);
      if ((chunk.get(Memtable.LONG, at + Memtable.SEQUENCE) & ~Memtable.TOMBSTONE) <= sequenceMax) {
        return true;
      }
      node = memtable.next(node, 0);
    }
    return false;
  }

  private boolean sameKey(int other) {
    MemorySegment otherChunk = memtable.chunk(other);
    long otherAt = Memtable.place(other);
    int length = keyLength();
    return otherChunk.get(Memtable.LONG, otherAt + Memtable.PREFIX)
            == chunk.get(Memtable.LONG, at + Memtable.PREFIX)
        && otherChunk.get(Memtable.INT, otherAt + Memtable.KEY_LENGTH) == length
        && Bytes.compare(
                chunk,
                keyOffset(),
                length,
                otherChunk,
                Memtable.keyOffset(otherChunk, otherAt),
                length)
            == 0;
  }

  @Override
  public MemorySegment keySegment() {
    return chunk;
  }

  @Override
  public long keyOffset() {
    return Memtable.keyOffset(chunk, at);
  }

  @Override
  public int keyLength() {
    return chunk.get(Memtable.INT, at + Memtable.KEY_LENGTH);
  }

  @Override
  public boolean isTombstone() {
    return chunk.get(Memtable.LONG, at + Memtable.SEQUENCE) < 0;
  }

  @Override
  public MemorySegment valueSegment() {
    return memtable.chunk(chunk.get(Memtable.INT, at + Memtable.VALUE_AT));
  }

  @Override
  public long valueOffset() {
    return Memtable.place(chunk.get(Memtable.INT, at + Memtable.VALUE_AT));
  }

  @Override
  public int valueLength() {
    return chunk.get(Memtable.INT, at + Memtable.VALUE_LENGTH);
  }
}
