package lsmlab.storage.textbook;

import java.lang.foreign.MemorySegment;
import java.util.Iterator;
import lsmlab.storage.Scan;

/** Shows the pairs of merged entries: all that are no tombstones. */
final class TextbookScan implements Scan {

  private final Iterator<Entry> merged;
  private Entry current;

  TextbookScan(Iterator<Entry> merged) {
    this.merged = merged;
  }

  @Override
  public boolean next() {
    current = null;
    while (current == null && merged.hasNext()) {
      Entry entry = merged.next();
      current = entry.isTombstone() ? null : entry;
    }
    return current != null;
  }

  @Override
  public MemorySegment key() {
    return atPair().key().asReadOnly();
  }

  @Override
  public MemorySegment value() {
    return atPair().value().asReadOnly();
  }

  private Entry atPair() {
    if (current == null) {
      throw new IllegalStateException("the scan is not at a pair");
    }
    return current;
  }

  @Override
  public void close() {
    current = null;
  }
}
