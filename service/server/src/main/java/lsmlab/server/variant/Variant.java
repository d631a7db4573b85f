package lsmlab.server.variant;

/**
 * How a parsed request reaches the storage and its reply reaches the socket: on which thread, through which queue, in
 * which order. The one thing that experiments vary in the server.
 *
 * <p><b>Protocol.</b> A selector thread reads and parses a request and calls {@link #submit}. The variant arranges
 * that {@link Request#run} is called once, on a thread of its choice, or {@link Request#reject} where it has no room.
 * A connection has at most one request in here at a time: the next pipelined one is submitted after the reply to the
 * one before, by the thread that replied. So replies keep their order whatever a variant does, and nothing that a
 * variant holds grows with the depth of pipelines.
 *
 * <p><b>To add one</b>: implement this interface in one class and name it in one line of {@link Variants}.
 *
 * <p><b>Rules.</b> {@code submit} does not wait: a selector thread that waits serves nobody. Everything is bounded,
 * and what does not fit is rejected. Threads are named {@code worker-N}, because profiles are split by thread name.
 * Threads are never interrupted: an interrupt closes the file that the thread is reading.
 */
public interface Variant extends AutoCloseable {

  /** Takes the request over. Called by any number of threads at once; neither blocks nor throws. */
  void submit(Request request);

  /** Requests that wait now. May be an estimate; called once a second. */
  int queueDepth();

  /** Requests that may wait; 0 where none can. */
  int queueCapacity();

  /** Runs what waits, then ends the variant's threads and returns. No {@code submit} may follow or overlap. */
  @Override
  void close();
}
