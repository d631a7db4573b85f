package lsmlab.server.request;

import lsmlab.storage.WriteBatch;

/**
 * A parsed request on its way to the storage, as a {@link lsmlab.server.variant.Variant} sees it.
 *
 * <p>The variant completes a request exactly once, on any threads, in one of these ways:
 *
 * <ul>
 *   <li>{@link #run}, or {@link #execute} and then {@link #send}
 *   <li>for a PUT or DELETE: {@link #addTo} a batch, {@link #executed} after the batch was written, then {@link #send}
 *   <li>{@link #reject}
 * </ul>
 *
 * <p>None of these throws, except {@link #addTo}. After {@code run}, {@code send} or {@code reject} the object belongs
 * to its connection again, which may reuse it for the next request. Read what you need from it before.
 */
public interface Request {

  /** The operation that the client asks for. */
  enum Kind {
    GET,
    PUT,
    DELETE,
    RANGE;

    /** Whether a {@link WriteBatch} can hold the operation. */
    public boolean isWrite() {
      return this == PUT || this == DELETE;
    }
  }

  /** Does the storage work and prepares the response. Touches no socket. */
  void execute();

  /** Writes the prepared response to the socket. */
  void send();

  /** Executes the request and sends its response, both on this thread. */
  default void run() {
    execute();
    send();
  }

  /** Answers 503 without touching the storage; the connection stays open. */
  void reject(Rejection why);

  Kind kind();

  /** Returns a hash of the key, or of a range's start, spread over all 32 bits. Equal keys have equal hashes. */
  int keyHash();

  /** Returns when the selector woke up for the request, in {@link System#nanoTime} terms. */
  long arrivedNanos();

  /**
   * Adds this PUT or DELETE to a batch. Call {@link #executed} once the batch has been written, in place of {@link
   * #execute}.
   *
   * @throws IllegalArgumentException if the key or the value is too long for every engine; pass the exception to {@link
   * #executed}
   * @throws IllegalStateException if the request is not a write
   */
  void addTo(WriteBatch batch);

  /**
   * Prepares the response to a request that was part of a batch.
   *
   * @param failure why the write failed; null if it succeeded
   */
  void executed(Throwable failure);
}
