package lsmlab.server.variant;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import lsmlab.server.request.Rejection;
import lsmlab.server.request.Request;
import lsmlab.server.variant.queue.RequestQueue;

/**
 * Worker threads take the oldest request during normal load and the newest during overload. A time limit bounds how
 * long any request waits.
 *
 * <p><b>How a request travels.</b> Socket → selector thread → deque → a worker → storage → socket. The service counts
 * as overloaded if the deque has not been empty for {@code deadline_ms}. A request may wait for that time after its
 * arrival, but only for a twentieth of it during an overload. One that has waited longer gets 503 when a worker
 * next takes a request.
 *
 * <p><b>What it costs.</b> One lock for both ends, and one reading of the clock for each request. Under overload a
 * request is served at once or refused soon: clients that are served see the usual latency, and refused ones can go
 * elsewhere. Requests are not served in order during an overload.
 *
 * <p><b>Where it comes from.</b> B. Maurer, "Fail at Scale", ACM Queue 13(8), 2015, which uses 100 ms and 5 ms; the
 * limit on waiting comes from CoDel: K. Nichols and V. Jacobson, "Controlling Queue Delay", ACM Queue 10(5), 2012.
 */
final class AdaptiveLifoVariant extends QueuedVariant {

  static final String SUMMARY =
      "oldest first while calm; newest first, with a short limit on waiting, while overloaded";

  /** The allowed wait is divided by this number during an overload. */
  private static final int OVERLOAD_DIVISOR = 20;

  AdaptiveLifoVariant(VariantSettings settings) {
    this(settings, System::nanoTime);
  }

  /**
   * Makes a variant that reads the given clock.
   *
   * @param clock returns nanoseconds, like {@link System#nanoTime}
   */
  AdaptiveLifoVariant(VariantSettings settings, LongSupplier clock) {
    super(new CodelDeque(settings, clock), settings);
  }

  /** The deque. Rejects expired requests outside its lock, because a rejection writes to a socket. */
  private static final class CodelDeque implements RequestQueue {

    private final ReentrantLock lock = new ReentrantLock();

    /** The waiting requests, oldest first. Guarded by {@link #lock}. */
    private final ArrayDeque<Request> requests = new ArrayDeque<>();

    /** When the deque was last empty, in nanoseconds of the clock. Guarded by {@link #lock}. */
    private long emptyNanos;

    private final int capacity;
    private final long intervalNanos;
    private final LongSupplier clock;
    private volatile int size;

    CodelDeque(VariantSettings settings, LongSupplier clock) {
      this.capacity = settings.queueCapacity();
      this.intervalNanos = settings.deadlineNanos();
      this.clock = clock;
      emptyNanos = clock.getAsLong();
    }

    @Override
    public boolean offer(Request request) {
      lock.lock();
      try {
        if (requests.size() == capacity) {
          return false;
        }
        if (requests.isEmpty()) {
          emptyNanos = clock.getAsLong();
        }
        requests.addLast(request);
        size = requests.size();
        return true;
      } finally {
        lock.unlock();
      }
    }

    @Override
    public Request poll() {
      Request next;
      List<Request> expired;
      lock.lock();
      try {
        long now = clock.getAsLong();
        boolean overloaded = isOverloaded(now);
        expired = removeExpired(now);
        next = overloaded ? requests.pollLast() : requests.pollFirst();
        if (requests.isEmpty()) {
          emptyNanos = now;
        }
        size = requests.size();
      } finally {
        lock.unlock();
      }
      expired.forEach(request -> request.reject(Rejection.DEADLINE));
      return next;
    }

    @Override
    public Request pollOldest() {
      lock.lock();
      try {
        Request oldest = requests.pollFirst();
        size = requests.size();
        return oldest;
      } finally {
        lock.unlock();
      }
    }

    private boolean isOverloaded(long now) {
      return !requests.isEmpty() && now - emptyNanos > intervalNanos;
    }

    /** Removes the requests that have waited too long, which are the oldest ones. */
    private List<Request> removeExpired(long now) {
      long waitMax = isOverloaded(now) ? intervalNanos / OVERLOAD_DIVISOR : intervalNanos;
      List<Request> expired = List.of();
      for (Request oldest = requests.peekFirst();
          oldest != null && now - oldest.arrivedNanos() > waitMax;
          oldest = requests.peekFirst()) {
        if (expired.isEmpty()) {
          expired = new ArrayList<>();
        }
        expired.add(requests.pollFirst());
      }
      return expired;
    }

    @Override
    public boolean isEmpty() {
      return size == 0;
    }

    @Override
    public int size() {
      return size;
    }

    @Override
    public int capacity() {
      return capacity;
    }
  }
}
