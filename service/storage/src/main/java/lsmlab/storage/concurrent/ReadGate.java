package lsmlab.storage.concurrent;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.locks.LockSupport;

/**
 * Lets readers use the target of a pointer without counting references, and tells one thread when
 * all readers that may have seen an old pointer have left. This is sleepable read-copy-update with
 * two phases and striped counters.
 *
 * <p>To enter, a reader reads the phase, increments that phase's counter of its stripe, and reads
 * the phase again. If it has changed, the reader decrements the counter and starts over. Then it
 * may load the pointer. {@link #awaitReaders}, called after the pointer was changed, advances the
 * phase and waits until the old phase's counter of each stripe has been zero once. A reader that
 * entered in the old phase had incremented its counter before, so it is waited for. A reader that
 * enters later loads the new pointer.
 *
 * <p>A section costs two atomic additions to a cache line that few others use, about 10 ns.
 * Sections must be short, and must not wait for {@link #awaitReaders}. Source: McKenney, "Sleepable
 * RCU" (2006), with a recheck on entry in place of the second flip.
 */
public final class ReadGate {

  private static final int STRIPES = 32;

  /**
   * Distance between two counters in longs: two cache lines, because the CPU fetches neighbours in
   * pairs.
   */
  private static final int STRIDE = 16;

  private static final VarHandle COUNTER = MethodHandles.arrayElementVarHandle(long[].class);

  private final long[] counters = new long[(2 * STRIPES + 1) * STRIDE];
  private volatile int phase;

  /** Enters a section. Pass the returned ticket to {@link #exit}. */
  public int enter() {
    int stripe = (int) Thread.currentThread().threadId() & (STRIPES - 1);
    while (true) {
      int seen = phase;
      int ticket = place(seen, stripe);
      COUNTER.getAndAdd(counters, ticket, 1L);
      if (phase == seen) {
        return ticket;
      }
      COUNTER.getAndAdd(counters, ticket, -1L);
    }
  }

  /** Leaves the section. */
  public void exit(int ticket) {
    COUNTER.getAndAdd(counters, ticket, -1L);
  }

  /**
   * Returns once every section that was entered before this call has been left. Called by one
   * thread at a time.
   */
  public void awaitReaders() {
    int old = phase;
    phase = old + 1;
    for (int stripe = 0; stripe < STRIPES; stripe++) {
      while ((long) COUNTER.getVolatile(counters, place(old, stripe)) != 0) {
        LockSupport.parkNanos(50_000);
      }
    }
    assert phase == old + 1 : "two threads waited for readers at once";
  }

  private static int place(int phase, int stripe) {
    return ((phase & 1) * STRIPES + stripe + 1) * STRIDE;
  }
}
