package lsmlab.server.variant;

import one.nio.server.Server;
import one.nio.server.ServerConfig;

/**
 * How a parsed request reaches the storage and its response reaches the socket: on which thread, through which queue, in
 * which order. The one thing that experiments vary in the server.
 *
 * <p><b>Protocol.</b> A selector thread reads and parses a request and calls {@link #submit}. The variant arranges
 * that the request is completed once, on a thread of its choice, or calls {@link Request#reject} if it has no room; see
 * {@link Request} for the ways to complete it. A connection has at most one request in here at a time: the next pipelined
 * one is submitted after the response to the one before. So responses keep their order whatever a variant does, and
 * nothing that a variant holds grows with the depth of pipelines. A range that is longer than its buffer is submitted
 * again for each part.
 *
 * <p><b>To add one</b>: implement this interface in one class and name it in one line of {@link Variants}.
 *
 * <p><b>Rules.</b> {@code submit} does not wait: a selector thread that waits serves no connection. Everything is bounded,
 * and a request that does not fit is rejected. The difference between two variants is what their two classes say: none
 * looks at the current thread. A variant's own threads are named {@code worker-N}, because profiles are split by thread
 * name. Threads are never interrupted at work: an interrupt closes the file that the thread is reading.
 */
public interface Variant extends AutoCloseable {

  /**
   * Changes the library's settings before the port is bound: acceptors, {@code reusePort}, pinned threads, worker pool.
   * Called before each attempt to bind.
   */
  default void configure(ServerConfig config) {}

  /** Receives the server, bound and not yet started. Called once, before the first {@link #submit}. */
  default void attach(Server server) {}

  /** Takes the request over. Called by any number of threads at once; neither waits nor throws. */
  void submit(Request request);

  /** Requests that wait now. May be an estimate; called once a second. */
  int queueDepth();

  /** Requests that may wait; 0 if none can. */
  int queueCapacity();

  /**
   * Completes the requests that wait, then ends the variant's threads. Returns when that is done or {@link
   * VariantSettings#closeNanosMax} is over. No {@code submit} may follow or overlap it.
   */
  @Override
  void close();
}
