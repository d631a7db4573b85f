package lsmlab.storage.lsm;

import java.util.concurrent.atomic.AtomicReference;

/**
 * Writes that wait to be committed: a stack that any thread pushes onto and the leader of the {@link CommitPipeline} takes whole.
 * They are linked through {@link Write#next}. Source: Treiber, "Systems Programming: Coping with Parallelism" (1986).
 */
final class PendingWrites {

  /** Bytes of writes that go to the WAL together at most, unless one alone is larger. */
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

  /** Takes all, linked from the oldest to the newest. Null where there is none. */
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

  /** Wakes the writer that came last, if there is one. */
  void nudge() {
    Write write = newest.get();
    if (write != null) {
      write.nudge();
    }
  }

  /** How many threads wait, each for the last write of a run. For the leader: nobody may take them meanwhile. */
  int awaited() {
    int count = 0;
    for (Write write = newest.get(); write != null; write = write.next) {
      count += write.awaited ? 1 : 0;
    }
    return count;
  }

  /**
   * Counts writes that were taken.
   *
   * @param end is not counted; null for all
   */
  static int count(Write first, Write end) {
    int count = 0;
    for (Write write = first; write != end; write = write.next) {
      count++;
    }
    return count;
  }

  /** The first write that is not in the group which begins with {@code first}. A request to seal is a group. */
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
