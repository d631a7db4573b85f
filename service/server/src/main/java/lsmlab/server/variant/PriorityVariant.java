package lsmlab.server.variant;

import java.util.Comparator;
import java.util.concurrent.PriorityBlockingQueue;
import lsmlab.server.request.Rejection;
import lsmlab.server.request.Request;
import lsmlab.server.variant.queue.QueuePolicy;
import lsmlab.server.variant.queue.RequestQueue;
import lsmlab.server.variant.queue.WaitingCount;

/**
 * Worker threads take the request whose deadline is nearest, and answer 503 to those whose deadline has passed.
 *
 * <p><b>How a request travels.</b> Socket → selector thread → a heap ordered by deadline → a worker → storage → socket.
 * The deadline of a GET is {@code deadline_ms} after its arrival, that of a write twice and that of a range ten times
 * as long, so quick requests go first.
 *
 * <p><b>What it costs.</b> An entry for each request, and O(log n) comparisons under one lock at each end. In return,
 * no work is done for a client that has stopped waiting, so an overload costs little goodput: every request that is
 * executed starts in time.
 *
 * <p><b>Where it comes from.</b> Earliest deadline first: C. L. Liu and J. W. Layland, "Scheduling Algorithms for
 * Multiprogramming in a Hard-Real-Time Environment", JACM 1973.
 */
final class PriorityVariant extends QueuedVariant {

  static final String SUMMARY =
      "workers take the request with the nearest deadline first and drop late ones";

  private static final int WRITE_FACTOR = 2;
  private static final int RANGE_FACTOR = 10;

  PriorityVariant(VariantSettings settings) {
    super(new DeadlineHeap(settings), settings.withPolicy(QueuePolicy.REJECT_NEWEST));
  }

  /** Holds requests by deadline. Rejects a request that is late when it is taken. */
  private static final class DeadlineHeap implements RequestQueue {

    /** A request, and the time by which it should start, in {@link System#nanoTime} terms. */
    private record Entry(Request request, long deadlineNanos) {}

    private final PriorityBlockingQueue<Entry> heap =
        new PriorityBlockingQueue<>(
            64,
            // System.nanoTime() may overflow: differences compare, values do not
            Comparator.comparing(Entry::deadlineNanos, (a, b) -> Long.signum(a - b)));
    private final WaitingCount waiting;
    private final long budgetNanos;

    DeadlineHeap(VariantSettings settings) {
      waiting = new WaitingCount(settings.queueCapacity());
      budgetNanos = settings.deadlineNanos();
    }

    @Override
    public boolean offer(Request request) {
      if (!waiting.enter()) {
        return false;
      }
      int factor =
          switch (request.kind()) {
            case GET -> 1;
            case PUT, DELETE -> WRITE_FACTOR;
            case RANGE -> RANGE_FACTOR;
          };
      return heap.offer(new Entry(request, request.arrivedNanos() + factor * budgetNanos));
    }

    @Override
    public Request poll() {
      Entry entry;
      while ((entry = heap.poll()) != null) {
        waiting.leave();
        if (System.nanoTime() - entry.deadlineNanos() <= 0) {
          return entry.request();
        }
        entry.request().reject(Rejection.DEADLINE);
      }
      return null;
    }

    @Override
    public boolean isEmpty() {
      return heap.isEmpty();
    }

    @Override
    public int size() {
      return waiting.get();
    }

    @Override
    public int capacity() {
      return waiting.capacity();
    }
  }
}
