package lsmlab.storage.lsm;

import java.util.concurrent.atomic.AtomicReference;

/**
 * Writes that wait to be committed. Any thread pushes onto this stack, and the leader of the {@link
 * CommitPipeline} takes it whole. The writes are linked through {@link Write#next}. Source:
 * Treiber, "Systems Programming: Coping with Parallelism" (1986).
 */
final class PendingWrites {

  /**
   * Maximum number of bytes that are written to the WAL together, unless a single write is larger.
   */
  private static final long GROUP_BYTES_MAX = 1 << 20;

  private final AtomicReference<Write> newest = new AtomicReference<>();

  /** Adds a run of writes, linked from its newest to its oldest. */
  void push(Write oldestOfRun, Write newestOfRun) {
    Write head;
    do {
      head = newest.get();
      oldestOfRun.next = head;
    } while (!newest.compareAndSet(head, newestOfRun));
  }

  /** Takes all writes, linked from the oldest to the newest. Returns null if there is none. */
  Write takeAll() {
    Write newestFirst = newest.getAndSet(null);
    Write oldestFirst = null;
    while (newestFirst != null) {
      Write next = newestFirst.next;
      newestFirst.next = oldestFirst;
      oldestFirst = newestFirst;
      newestFirst = next;
    }
    return oldestFirst;
  }

  /** Wakes the writer that pushed last, if there is one. */
  void nudge() {
    Write write = newest.get();
    if (write != null) {
      write.nudge();
    }
  }

  /**
   * Returns how many threads are waiting. Only the leader may call this: nobody else may take the
   * writes meanwhile.
   */
  int awaited() {
    int count = 0;
    for (Write write = newest.get(); write != null; write = write.next) {
      count += write.awaited ? 1 : 0;
    }
    return count;
  }

  /**
   * Counts the writes from {@code first} to {@code end}.
   *
   * @param end first write that is not counted; null to count all
   */
  static int count(Write first, Write end) {
    int count = 0;
    for (Write write = first; write != end; write = write.next) {
      count++;
    }
    return count;
  }

  /**
   * Returns the first write after the group that begins with {@code first}; null if there is none.
   * A request to seal is a group of its own.
   */
  static Write groupEnd(Write first) {
    Write end = first.next;
    if (first.isSeal()) {
      return end;
    }
    for (long bytes = first.bytes(); end != null && !end.isSeal(); end = end.next) {
      bytes += end.bytes();
      if (bytes > GROUP_BYTES_MAX) {
        break;
      }
    }
    return end;
  }
}
