package lsmlab.server.variant;

/**
 * A {@link RequestQueue} and the place where its workers idle: one wake-up policy for every variant with a queue.
 *
 * <p>A submit wakes one worker, if one is parked and no woken worker has yet to run. A worker that leaves requests
 * behind wakes the next. A variant that differs from another in its queue therefore differs in nothing else.
 */
final class WorkQueue {

  private final RequestQueue queue;
  private final ParkingLot lot;
  private volatile boolean closed;

  WorkQueue(RequestQueue queue, int workers, IdleStrategy idle) {
    this.queue = queue;
    this.lot = new ParkingLot(workers, idle);
  }

  /** Adds a request and wakes a worker; false if the queue is full. */
  boolean offer(Request request) {
    boolean added = queue.offer(request);
    if (added) {
      lot.wakeOne();
    }
    return added;
  }

  /**
   * Removes the next request; waits for it by the {@link IdleStrategy}.
   *
   * @param place the calling worker's own, from 0
   * @return null once the queue is closed and empty
   */
  Request take(int place) {
    Request request = await(place);
    wakeNext();
    return request;
  }

  /**
   * Waits for a request as {@link #take} does, then adds those that wait behind it, without waiting for more.
   *
   * @param into receives the requests from its beginning
   * @return how many; 0 once the queue is closed and empty
   */
  int take(int place, Request[] into) {
    Request request = await(place);
    int count = 0;
    while (request != null) {
      into[count++] = request;
      request = count < into.length ? queue.poll() : null;
    }
    wakeNext();
    return count;
  }

  private Request await(int place) {
    while (true) {
      Request request = queue.poll();
      if (request != null) {
        return request;
      }
      if (closed && queue.isEmpty()) {
        return null;
      }
      lot.idle(place, this::hasNothingToDo);
    }
  }

  private boolean hasNothingToDo() {
    return queue.isEmpty() && !closed;
  }

  private void wakeNext() {
    if (!queue.isEmpty()) {
      lot.wakeOne();
    }
  }

  /** Removes the request that has waited longest; null if none waits. */
  Request pollOldest() {
    return queue.pollOldest();
  }

  int size() {
    return queue.size();
  }

  int capacity() {
    return queue.capacity();
  }

  /** Ends the workers once the queue is empty. Nothing may be added after this call. */
  void close() {
    closed = true;
    lot.wakeAll();
  }
}
