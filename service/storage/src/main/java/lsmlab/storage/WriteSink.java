package lsmlab.storage;

/**
 * What takes writes: an engine, a log, a batch on its way to an engine of another make. The arrays stay the caller's: they are
 * read during the call and not after.
 *
 * @param <X> what a write may fail with
 */
public interface WriteSink<X extends Exception> {

  /** Takes a pair. */
  void put(byte[] key, int keyOffset, int keyLength, byte[] value, int valueOffset, int valueLength)
      throws X;

  /** Takes the removal of a key. */
  void delete(byte[] key, int keyOffset, int keyLength) throws X;
}
