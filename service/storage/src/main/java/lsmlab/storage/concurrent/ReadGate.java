package lsmlab.storage.concurrent;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.locks.LockSupport;

/**
 * Lets readers use what a pointer leads to without counting references, and lets one thread find out when all readers
 * that may have seen an old pointer are gone: sleepable read-copy-update with two phases and striped counters.
 *
 * <p>A reader enters: reads the phase, adds one to that phase's counter of its stripe, and reads the phase again; had
 * it changed, it takes its one back and starts over. Then it may load the pointer. {@link #awaitReaders} is called after
 * the pointer was changed: it advances the phase and waits until each stripe's counter of the phase before has been
 * seen at zero. A reader that entered in that phase had its count up before the phase advanced, so it is waited for; one
 * that enters later loads the new pointer.
 *
 * <p>Costs a reader two atomic additions to a cache line that few others use, about 10 ns. Sections must be short: no
 * section may wait for {@link #awaitReaders}. Source: McKenney, "Sleepable RCU" (2006), with a recheck on entry in
 * place of the second flip.
 */
public final class ReadGate {

  private static final int STRIPES = 32;

  /** Longs from one counter to the next: two cache lines, because neighbours are fetched in pairs. */
  private static final int STRIDE = 16;

  private static final VarHandle COUNTER = MethodHandles.arrayElementVarHandle(long[].class);

  private final long[] counters = new long[(2 * STRIPES + 1) * STRIDE];
  private volatile int phase;

  /** Begins a section; the ticket ends it. */
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

  /** Ends the section. */
  public void exit(int ticket) {
    COUNTER.getAndAdd(counters, ticket, -1L);
  }

  /** Returns when every section that had begun before this call has ended. One thread at a time. */
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
