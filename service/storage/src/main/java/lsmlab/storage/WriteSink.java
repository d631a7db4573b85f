package lsmlab.storage;

/**
 * Receives writes, one at a time. An engine, a WAL and the batch of a peer engine implement it. It
 * reads the arrays only during the call.
 *
 * @param <X> exception that a write may throw
 */
public interface WriteSink<X extends Exception> {

  /** Receives a pair to store. */
  void put(byte[] key, int keyOffset, int keyLength, byte[] value, int valueOffset, int valueLength)
      throws X;

  /** Receives a key to remove. */
  void delete(byte[] key, int keyOffset, int keyLength) throws X;
}
