package lsmlab.server.variant;

/**
 * A parsed request on its way to the storage, as a {@link Variant} sees it.
 *
 * <p>Whoever takes it calls exactly one of {@link #run} and {@link #reject}, exactly once, on any thread. Neither
 * throws. After that call the object belongs to its connection again, which uses it for the next request: read what
 * you need of it before.
 */
public interface Request {

  /** What it asks for. */
  enum Kind {
    GET,
    PUT,
    DELETE,
    RANGE
  }

  /** Does what is asked in the storage and sends the reply; both on this thread. */
  void run();

  /** Answers 503 without touching the storage. */
  void reject(Rejection why);

  Kind kind();

  /** Hash of the key (of a range's start), spread over all 32 bits; equal keys have equal hashes. */
  int keyHash();

  /** When the selector woke up for it, in {@link System#nanoTime} terms. */
  long arrivedNanos();
}
