package lsmlab.server.variant;

import lsmlab.storage.WriteBatch;

/**
 * A parsed request on its way to the storage, as a {@link Variant} sees it.
 *
 * <p>The variant completes it exactly once, on any threads, in one of these ways:
 *
 * <ul>
 *   <li>{@link #run}, or {@link #execute} and then {@link #send}
 *   <li>for a PUT or DELETE: {@link #addTo} a batch, {@link #executed} after the batch was written, then {@link #send}
 *   <li>{@link #reject}
 * </ul>
 *
 * <p>None of these throws, except {@link #addTo}. After {@code run}, {@code send} or {@code reject} the object belongs to
 * its connection again, which may use it for the next request: read what you need of it before.
 */
public interface Request {

  /** The operation that the client asks for. */
  enum Kind {
    GET,
    PUT,
    DELETE,
    RANGE;

    /** Whether a {@link WriteBatch} can hold it. */
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

  /** Hash of the key (of a range's start), spread over all 32 bits; equal keys have equal hashes. */
  int keyHash();

  /** When the selector woke up for it, in {@link System#nanoTime} terms. */
  long arrivedNanos();

  /**
   * Adds this PUT or DELETE to a batch. Call {@link #executed} once the batch has been written, in place of {@link
   * #execute}.
   *
   * @throws IllegalArgumentException if no engine takes the key or the value; call {@link #executed} with it
   * @throws IllegalStateException if the request is not a write
   */
  void addTo(WriteBatch batch);

  /**
   * Prepares the response of a request that a batch held.
   *
   * @param failure why it was not stored; null if it was
   */
  void executed(Throwable failure);
}
