package lsmlab.server.variant;

import lsmlab.server.request.Request;
import one.nio.server.Server;
import one.nio.server.ServerConfig;

/**
 * Carries a parsed request to the storage and its response to the socket: on which thread, through which queue,
 * in which order. It is the one part of the server that experiments vary.
 *
 * <p><b>Protocol.</b> A selector thread reads and parses a request and calls {@link #submit}. The variant arranges that
 * the request is completed once, on a thread of its choice, or calls {@link Request#reject} if it has no room; {@link
 * Request} lists the ways to complete it. A variant holds at most one request of a connection at a time: the next
 * pipelined request is submitted after the response to the previous one. So responses keep their order whatever a
 * variant does, and a variant's memory does not grow with the depth of pipelines. A range that is longer than its
 * buffer is submitted again for each part.
 *
 * <p><b>To add one</b>: implement this interface in one class and add one line to {@link Variants}.
 *
 * <p><b>Rules.</b> {@code submit} does not wait: a selector thread that waits serves no connection. Every queue is
 * bounded, and a request that does not fit is rejected. No variant behaves differently depending on the current thread,
 * so two variants differ only as their classes say. A variant's own threads are named {@code worker-N}, because
 * profiles are split by thread name. Threads are never interrupted while they execute a request: an interrupt closes
 * the file that the thread is reading.
 */
public interface Variant extends AutoCloseable {

  /**
   * Changes the library's settings before the port is bound, such as acceptors, {@code reusePort}, pinned threads and
   * the worker pool. Called before each attempt to bind.
   */
  default void configure(ServerConfig config) {}

  /** Receives the server, bound and not yet started. Called once, before the first {@link #submit}. */
  default void attach(Server server) {}

  /** Takes over the request. Any number of threads may call this at the same time. Must neither wait nor throw. */
  void submit(Request request);

  /** Returns the number of waiting requests, which may be an estimate. Called once a second. */
  default int queueDepth() {
    return 0;
  }

  /** Returns the maximum number of waiting requests; 0 if none can wait. */
  default int queueCapacity() {
    return 0;
  }

  /**
   * Completes the waiting requests, then ends the variant's threads. Returns when that is done, or after {@link
   * VariantSettings#closeNanosMax}. No {@code submit} may follow or overlap it.
   */
  @Override
  void close();
}
