package lsmlab.server.variant.queue;

import java.util.Queue;
import lsmlab.server.request.Request;

/** Holds the requests that wait for a worker. Bounded and thread-safe. No method waits. */
public interface RequestQueue {

  /** Adds a request. Returns false if the queue is full. */
  boolean offer(Request request);

  /** Removes and returns the next request, or returns null if none waits. */
  Request poll();

  /** Removes and returns the request that has waited longest, or returns null if none waits. */
  default Request pollOldest() {
    return poll();
  }

  boolean isEmpty();

  /** Returns the number of waiting requests, which may be an estimate. */
  int size();

  int capacity();

  /**
   * Wraps a library's queue, which returns the oldest request first.
   *
   * @param queue bounded and thread-safe, with a cheap {@code size}
   * @param capacity maximum number of requests in the queue
   */
  static RequestQueue of(Queue<Request> queue, int capacity) {
    return new Wrapped(queue, capacity);
  }

  /** The queue that {@link #of} returns. */
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
