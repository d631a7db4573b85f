package lsmlab.server.variant;

import java.util.Comparator;
import java.util.concurrent.PriorityBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Worker threads take the request whose deadline is nearest, and answer 503 to those whose deadline has passed.
 *
 * <p><b>How a request travels.</b> Socket → selector thread → a heap ordered by deadline → a worker → storage → socket.
 * A GET's deadline is {@code deadline_ms} after its arrival, a write's twice, a range's ten times that: what is quick
 * and awaited goes first.
 *
 * <p><b>What it costs.</b> An entry for each request and O(log n) comparisons under one lock at each end. In exchange no
 * work is done for a client that has stopped waiting, so that overload costs goodput little: what is served is served
 * in time.
 *
 * <p><b>Where it comes from.</b> Earliest deadline first: C. L. Liu and J. W. Layland, "Scheduling Algorithms for
 * Multiprogramming in a Hard-Real-Time Environment", JACM 1973.
 */
final class PriorityVariant implements Variant {

  static final String SUMMARY = "workers take the nearest deadline first and drop what is late";

  private static final int WRITE_FACTOR = 2;
  private static final int RANGE_FACTOR = 10;

  /** A request and the moment by which it should start. */
  private record Entry(Request request, long deadlineNanos) {}

  private final PriorityBlockingQueue<Entry> queue =
      new PriorityBlockingQueue<>(64, Comparator.comparingLong(Entry::deadlineNanos));
  private final AtomicInteger waiting = new AtomicInteger();
  private final int capacity;
  private final long budgetNanos;
  private final Workers workers;

  PriorityVariant(VariantSettings settings) {
    capacity = settings.queueCapacity();
    budgetNanos = settings.deadlineNanos();
    workers = Workers.start(settings.workers(), Limit.REJECT_NEWEST, this::next);
  }

  private Request next() throws InterruptedException {
    while (true) {
      Entry entry = queue.take();
      if (entry.request() == Stop.REQUEST) {
        return null;
      }
      waiting.decrementAndGet();
      if (System.nanoTime() - entry.deadlineNanos() <= 0) {
        return entry.request();
      }
      entry.request().reject(Rejection.DEADLINE);
    }
  }

  @Override
  public void submit(Request request) {
    if (waiting.incrementAndGet() > capacity) {
      waiting.decrementAndGet();
      request.reject(Rejection.QUEUE_FULL);
      return;
    }
    int factor =
        switch (request.kind()) {
          case GET -> 1;
          case PUT, DELETE -> WRITE_FACTOR;
          case RANGE -> RANGE_FACTOR;
        };
    queue.add(new Entry(request, request.arrivedNanos() + factor * budgetNanos));
  }

  @Override
  public int queueDepth() {
    return Math.clamp(waiting.get(), 0, capacity);
  }

  @Override
  public int queueCapacity() {
    return capacity;
  }

  @Override
  public void close() {
    for (int i = 0; i < workers.count(); i++) {
      queue.add(new Entry(Stop.REQUEST, Long.MAX_VALUE));
    }
    workers.join();
  }
}
