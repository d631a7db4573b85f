package lsmlab.storage.cursor;

import java.lang.foreign.MemorySegment;
import java.util.List;
import lsmlab.storage.file.Bytes;

/**
 * Several cursors as one: of pairs with the same key the one from the earliest source in the list is shown, the others
 * are passed over. A binary heap ordered by key, then by place in the list.
 */
public final class MergingCursor implements Cursor {

  private final Cursor[] sources;

  /** Indexes into {@code sources}; the first {@code heapSize} form a heap. */
  private final int[] heap;

  private int heapSize;
  private Cursor top;

  /**
   * @param newestFirst the sources, those whose pairs shadow the others' first
   */
  public MergingCursor(List<? extends Cursor> newestFirst) {
    sources = newestFirst.toArray(Cursor[]::new);
    heap = new int[sources.length];
  }

  @Override
  public boolean seek(byte[] key) {
    heapSize = 0;
    for (int i = 0; i < sources.length; i++) {
      if (sources[i].seek(key)) {
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
    // Those that stand on the key just shown are passed over; they follow the top in heap order.
    Cursor shown = top;
    int shownIndex = heap[0];
    while (heapSize > 1) {
      int second = heapSize > 2 && less(heap[2], heap[1]) ? 2 : 1;
      Cursor other = sources[heap[second]];
      if (compareKeys(other, shown) != 0) {
        break;
      }
      advance(second);
    }
    assert heap[0] == shownIndex;
    advance(0);
    return settle();
  }

  private void advance(int place) {
    if (!sources[heap[place]].next()) {
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
    int order = compareKeys(sources[a], sources[b]);
    return order != 0 ? order < 0 : a < b;
  }

  private static int compareKeys(Cursor a, Cursor b) {
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
}
