package lsmlab.storage.cursor;

import java.lang.foreign.MemorySegment;
import java.util.List;
import lsmlab.storage.file.Bytes;

/**
 * Merges several cursors. If several sources hold the same key, it returns the pair of the first of
 * them in the list and skips the others. Uses a binary heap, ordered by key and then by position in
 * the list.
 *
 * <p>Keeps eight bytes of each source's current key as a number, so that most comparisons need not
 * read the keys. If all keys are known to share a prefix, these are the eight bytes after it.
 */
public final class MergingCursor implements Cursor {

  private final Cursor[] sources;

  /** Length of the prefix that all keys share. */
  private final int shared;

  /**
   * The eight bytes after the shared prefix of each source's current key, as an unsigned number.
   */
  private final long[] prefixes;

  /** Indexes into {@code sources}. The first {@code heapSize} entries form a heap. */
  private final int[] heap;

  private int heapSize;
  private Cursor top;

  /**
   * @param newestFirst the sources, newest first; a pair of one source hides pairs with the same
   *     key in later sources
   */
  public MergingCursor(List<? extends Cursor> newestFirst) {
    this(newestFirst, 0);
  }

  /**
   * Merges cursors whose keys share a prefix.
   *
   * @param shared length of the prefix that all keys of all sources share
   */
  public MergingCursor(List<? extends Cursor> newestFirst, int shared) {
    this.sources = newestFirst.toArray(Cursor[]::new);
    this.shared = shared;
    this.prefixes = new long[sources.length];
    this.heap = new int[sources.length];
  }

  @Override
  public boolean seek(byte[] key) {
    heapSize = 0;
    for (int i = 0; i < sources.length; i++) {
      if (sources[i].seek(key)) {
        notePrefix(i);
        heap[heapSize++] = i;
      }
    }
    for (int i = heapSize / 2 - 1; i >= 0; i--) {
      siftDown(i);
    }
    return settle();
  }

  @Override
  public boolean next() {
    // Skip the sources at the key just shown; they follow the top in heap order.
    int shown = heap[0];
    while (heapSize > 1) {
      int second = heapSize > 2 && less(heap[2], heap[1]) ? 2 : 1;
      if (compareKeys(heap[second], shown) != 0) {
        break;
      }
      advance(second);
    }
    assert heap[0] == shown;
    advance(0);
    return settle();
  }

  private void notePrefix(int source) {
    Cursor cursor = sources[source];
    prefixes[source] =
        Bytes.prefix(cursor.keySegment(), cursor.keyOffset() + shared, cursor.keyLength() - shared);
  }

  private void advance(int place) {
    int source = heap[place];
    if (sources[source].next()) {
      notePrefix(source);
    } else {
      heap[place] = heap[--heapSize];
      if (place == heapSize) {
        return;
      }
      siftUp(place);
    }
    siftDown(place);
  }

  private boolean settle() {
    top = heapSize == 0 ? null : sources[heap[0]];
    return top != null;
  }

  private void siftUp(int place) {
    int moving = heap[place];
    int i = place;
    while (i > 0) {
      int parent = (i - 1) >>> 1;
      if (!less(moving, heap[parent])) {
        break;
      }
      heap[i] = heap[parent];
      i = parent;
    }
    heap[i] = moving;
  }

  private void siftDown(int place) {
    int moving = heap[place];
    int i = place;
    while (true) {
      int child = 2 * i + 1;
      if (child >= heapSize) {
        break;
      }
      if (child + 1 < heapSize && less(heap[child + 1], heap[child])) {
        child++;
      }
      if (!less(heap[child], moving)) {
        break;
      }
      heap[i] = heap[child];
      i = child;
    }
    heap[i] = moving;
  }

  private boolean less(int a, int b) {
    int order = compareKeys(a, b);
    return order != 0 ? order < 0 : a < b;
  }

  private int compareKeys(int left, int right) {
    if (prefixes[left] != prefixes[right]) {
      return Long.compareUnsigned(prefixes[left], prefixes[right]);
    }
    Cursor a = sources[left];
    Cursor b = sources[right];
    return Bytes.compare(
        a.keySegment(), a.keyOffset(), a.keyLength(), b.keySegment(), b.keyOffset(), b.keyLength());
  }

  @Override
  public MemorySegment keySegment() {
    return top.keySegment();
  }

  @Override
  public long keyOffset() {
    return top.keyOffset();
  }

  @Override
  public int keyLength() {
    return top.keyLength();
  }

  @Override
  public boolean isTombstone() {
    return top.isTombstone();
  }

  @Override
  public MemorySegment valueSegment() {
    return top.valueSegment();
  }

  @Override
  public long valueOffset() {
    return top.valueOffset();
  }

  @Override
  public int valueLength() {
    return top.valueLength();
  }

  @Override
  public void pause(int bytesMax) {
    for (Cursor source : sources) {
      source.pause(bytesMax / sources.length);
    }
  }

  @Override
  public void resume() {
    for (int i = 0; i < heapSize; i++) {
      sources[heap[i]].resume();
    }
  }
}
