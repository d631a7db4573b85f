package lsmlab.server.variant;

import java.util.Queue;

/** Requests that wait for a worker: bounded and thread-safe. No method waits. */
interface RequestQueue {

  /** Adds a request; false if the queue is full. */
  boolean offer(Request request);

  /** Removes and returns the next request; null if none waits. */
  Request poll();

  /** Removes and returns the request that has waited longest; null if none waits. */
  default Request pollOldest() {
    return poll();
  }

  boolean isEmpty();

  /** Requests that wait; may be an estimate. */
  int size();

  int capacity();

  /**
   * A queue of a library, oldest first.
   *
   * @param queue bounded and thread-safe, with a cheap {@code size}
   * @param capacity its bound
   */
  static RequestQueue of(Queue<Request> queue, int capacity) {
    return new Wrapped(queue, capacity);
  }

  /** See {@link #of}. */
  record Wrapped(Queue<Request> queue, int capacity) implements RequestQueue {
    @Override
    public boolean offer(Request request) {
      return queue.offer(request);
    }

    @Override
    public Request poll() {
      return queue.poll();
    }

    @Override
    public boolean isEmpty() {
      return queue.isEmpty();
    }

    @Override
    public int size() {
      return queue.size();
    }
  }
}
