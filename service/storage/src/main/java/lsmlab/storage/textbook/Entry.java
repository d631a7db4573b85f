package lsmlab.storage.textbook;

import java.lang.foreign.MemorySegment;
import lsmlab.storage.file.Bytes;

/**
 * A pair or a tombstone.
 *
 * @param value null for a tombstone
 */
public record Entry(MemorySegment key, MemorySegment value) {

  boolean isTombstone() {
    return value == null;
  }

  /** Returns the size in bytes of the record in a table. */
  long bytes() {
    return MappedTable.RECORD_HEAD_BYTES + key.byteSize() + (value == null ? 0 : value.byteSize());
  }

  /** Compares keys lexicographically by unsigned byte. */
  static int compareKeys(MemorySegment a, MemorySegment b) {
    return Bytes.compare(a, 0, (int) a.byteSize(), b, 0, (int) b.byteSize());
  }
}
