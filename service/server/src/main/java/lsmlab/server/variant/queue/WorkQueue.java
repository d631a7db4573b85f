package lsmlab.server.variant.queue;

import lsmlab.server.request.Request;

/**
 * A {@link RequestQueue} and the place where its workers idle: one wake-up policy for every variant with a queue.
 *
 * <p>A submit wakes one worker if one is parked, unless a woken worker does not run yet. A worker that leaves requests
 * behind wakes the next one. So variants with different queues differ only in the queue.
 */
public final class WorkQueue {

  private final RequestQueue queue;
  private final ParkingLot lot;
  private volatile boolean closed;

  public WorkQueue(RequestQueue queue, int workers, IdleStrategy idle) {
    this.queue = queue;
    this.lot = new ParkingLot(workers, idle);
  }

  /** Adds a request and wakes a worker. Returns false if the queue is full. */
  public boolean offer(Request request) {
    boolean added = queue.offer(request);
    if (added) {
      lot.wakeOne();
    }
    return added;
  }

  /**
   * Removes the next request. Waits for it as the {@link IdleStrategy} says.
   *
   * @param place the place of the calling worker, from 0
   * @return the request, or null once the queue is closed and empty
   */
  public Request take(int place) {
    Request request = await(place);
    wakeNext();
    return request;
  }

  /**
   * Waits for a request as {@link #take} does, then also removes those that wait behind it, without waiting for more.
   *
   * @param into receives the requests, from index 0
   * @return number of requests; 0 once the queue is closed and empty
   */
  public int take(int place, Request[] into) {
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

  /** Removes and returns the request that has waited longest, or returns null if none waits. */
  public Request pollOldest() {
    return queue.pollOldest();
  }

  public int size() {
    return queue.size();
  }

  public int capacity() {
    return queue.capacity();
  }

  /** Ends the workers once the queue is empty. Nothing may be added after this call. */
  public void close() {
    closed = true;
    lot.wakeAll();
  }
}
