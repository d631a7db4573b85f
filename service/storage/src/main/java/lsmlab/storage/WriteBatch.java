package lsmlab.storage;

import java.util.Arrays;
import java.util.function.LongConsumer;

/**
 * Writes that are handed to an engine together, see {@link Engine#write}: collected in the order in which they shall be done,
 * handed over, asked what became of each, cleared, and used again. It allocates nothing once it has grown.
 *
 * <p>For one thread. The arrays stay the caller's, who leaves them as they are until {@code write} has returned.
 */
public final class WriteBatch {

  private Write[] writes = new Write[16];

  /** Why writes never came to the log; null where all have. */
  private Throwable[] failures;

  private int size;
  private long bytes;

  /** Adds a pair to be stored; throws as {@link Engine#put} does of what no engine takes. */
  public void put(
      byte[] key, int keyOffset, int keyLength, byte[] value, int valueOffset, int valueLength) {
    Limits.checkKey(key, keyOffset, keyLength);
    Limits.checkValue(value, valueOffset, valueLength);
    add(key, keyOffset, keyLength, value, valueOffset, valueLength);
  }

  /** Adds a key to be removed; throws as {@link Engine#delete} does of what no engine takes. */
  public void delete(byte[] key, int keyOffset, int keyLength) {
    Limits.checkKey(key, keyOffset, keyLength);
    add(key, keyOffset, keyLength, null, 0, 0);
  }

  private void add(
      byte[] key, int keyOffset, int keyLength, byte[] value, int valueOffset, int valueLength) {
    if (size == writes.length) {
      writes = Arrays.copyOf(writes, 2 * size);
    }
    Write write = writes[size];
    if (write == null) {
      write = new Write(key, keyOffset, keyLength, value, valueOffset, valueLength);
      writes[size] = write;
    } else {
      write.reset(key, keyOffset, keyLength, value, valueOffset, valueLength);
    }
    size++;
    bytes += write.bytes();
  }

  /** Writes added since it was cleared. */
  public int size() {
    return size;
  }

  /** About what they take in the log. */
  public long bytes() {
    return bytes;
  }

  /** Why the write was not done, as {@link Engine#put} would have thrown it; null where it was. */
  public Throwable failure(int index) {
    if (index >= size) {
      throw new IndexOutOfBoundsException("write " + index + " of " + size);
    }
    return failures != null && failures[index] != null ? failures[index] : writes[index].failure();
  }

  /** Forgets all writes. */
  public void clear() {
    for (int i = 0; i < size; i++) {
      writes[i].forgetArrays();
    }
    failures = null;
    size = 0;
    bytes = 0;
  }

  /** Hands all writes on in their order, for an engine that has a batch of its own. What the sink throws is thrown on. */
  public <X extends Exception> void writeTo(WriteSink<X> sink) throws X {
    for (int i = 0; i < size; i++) {
      writes[i].writeTo(sink);
    }
  }

  /** Says that none of the writes was done, and why: what {@link #failure} returns of each. */
  public void failAll(Throwable why) {
    for (int i = 0; i < size; i++) {
      fail(i, why);
    }
  }

  /** Does them one by one. */
  void writeEach(Engine engine) {
    for (int i = 0; i < size; i++) {
      try {
        writes[i].writeTo(engine);
      } catch (RuntimeException | Error e) {
        fail(i, e);
      }
    }
  }

  /**
   * Has the writes admitted one after the other. One that is not fails with all that come after it: they would wait as long
   * for the same room.
   *
   * @param admission is given each one's bytes and returns when it may go ahead, or throws why not
   * @return how many may go ahead, the first ones
   */
  int admit(LongConsumer admission) {
    for (int i = 0; i < size; i++) {
      try {
        admission.accept(writes[i].bytes());
      } catch (OverloadedException | ReadOnlyException e) {
        for (int left = i; left < size; left++) {
          fail(left, e);
        }
        return i;
      }
    }
    return size;
  }

  /** The writes, {@link #size} of them. */
  Write[] writes() {
    return writes;
  }

  private void fail(int index, Throwable why) {
    if (failures == null) {
      failures = new Throwable[size];
    }
    failures[index] = why;
  }
}
