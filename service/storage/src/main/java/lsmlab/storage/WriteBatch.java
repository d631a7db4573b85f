package lsmlab.storage;

import java.util.Arrays;

/**
 * Writes that {@link Engine#write} executes together. Add them in the order of execution, pass the
 * batch to the engine, ask for each failure, clear the batch and reuse it. Once it has grown, it
 * allocates nothing.
 *
 * <p>Not thread-safe. The caller must not change the arrays before {@code write} has returned.
 */
public final class WriteBatch {

  private byte[][] keys = new byte[16][];
  private byte[][] values = new byte[16][];
  private int[] keyOffsets = new int[16];
  private int[] keyLengths = new int[16];
  private int[] valueOffsets = new int[16];
  private int[] valueLengths = new int[16];

  /** Why each write failed, by the index of the write; null if no write has failed. */
  private Throwable[] failures;

  private int size;
  private long bytes;

  /** Adds a pair to store. Throws {@link IllegalArgumentException} as {@link Engine#put} does. */
  public void put(
      byte[] key, int keyOffset, int keyLength, byte[] value, int valueOffset, int valueLength) {
    Limits.checkKey(key, keyOffset, keyLength);
    Limits.checkValue(value, valueOffset, valueLength);
    add(key, keyOffset, keyLength, value, valueOffset, valueLength);
  }

  /**
   * Adds a key to remove. Throws {@link IllegalArgumentException} as {@link Engine#delete} does.
   */
  public void delete(byte[] key, int keyOffset, int keyLength) {
    Limits.checkKey(key, keyOffset, keyLength);
    add(key, keyOffset, keyLength, null, 0, 0);
  }

  private void add(
      byte[] key, int keyOffset, int keyLength, byte[] value, int valueOffset, int valueLength) {
    if (size == keys.length) {
      grow(2 * size);
    }
    keys[size] = key;
    keyOffsets[size] = keyOffset;
    keyLengths[size] = keyLength;
    values[size] = value;
    valueOffsets[size] = valueOffset;
    valueLengths[size] = valueLength;
    size++;
    bytes += Limits.recordBytes(keyLength, valueLength);
  }

  private void grow(int capacity) {
    keys = Arrays.copyOf(keys, capacity);
    values = Arrays.copyOf(values, capacity);
    keyOffsets = Arrays.copyOf(keyOffsets, capacity);
    keyLengths = Arrays.copyOf(keyLengths, capacity);
    valueOffsets = Arrays.copyOf(valueOffsets, capacity);
    valueLengths = Arrays.copyOf(valueLengths, capacity);
  }

  /** Returns the number of writes added since the batch was cleared. */
  public int size() {
    return size;
  }

  /** Returns the estimated size in bytes of the records of all writes in the WAL. */
  public long bytes() {
    return bytes;
  }

  /** Returns the array that holds the key of a write. */
  public byte[] key(int index) {
    return keys[checked(index)];
  }

  public int keyOffset(int index) {
    return keyOffsets[checked(index)];
  }

  public int keyLength(int index) {
    return keyLengths[checked(index)];
  }

  /** Returns the array that holds the value of a write, or null for a deletion. */
  public byte[] value(int index) {
    return values[checked(index)];
  }

  public int valueOffset(int index) {
    return valueOffsets[checked(index)];
  }

  public int valueLength(int index) {
    return valueLengths[checked(index)];
  }

  /** Returns what {@link Engine#put} would have thrown for this write, or null if it succeeded. */
  public Throwable failure(int index) {
    checked(index);
    return failures == null ? null : failures[index];
  }

  /** Records why a write failed. Called by the engine. */
  public void fail(int index, Throwable why) {
    checked(index);
    if (failures == null) {
      failures = new Throwable[size];
    }
    failures[index] = why;
  }

  /** Records why all writes failed. */
  public void failAll(Throwable why) {
    for (int i = 0; i < size; i++) {
      fail(i, why);
    }
  }

  /** Removes all writes. */
  public void clear() {
    Arrays.fill(keys, 0, size, null);
    Arrays.fill(values, 0, size, null);
    failures = null;
    size = 0;
    bytes = 0;
  }

  /** Passes all writes to the sink in order. For an engine that has its own kind of batch. */
  public <X extends Exception> void writeTo(WriteSink<X> sink) throws X {
    for (int i = 0; i < size; i++) {
      writeTo(sink, i);
    }
  }

  private <X extends Exception> void writeTo(WriteSink<X> sink, int i) throws X {
    if (values[i] == null) {
      sink.delete(keys[i], keyOffsets[i], keyLengths[i]);
    } else {
      sink.put(keys[i], keyOffsets[i], keyLengths[i], values[i], valueOffsets[i], valueLengths[i]);
    }
  }

  /** Executes the writes one by one and records those that fail. */
  void writeEach(Engine engine) {
    for (int i = 0; i < size; i++) {
      try {
        writeTo(engine, i);
      } catch (RuntimeException | Error e) {
        fail(i, e);
      }
    }
  }

  private int checked(int index) {
    if (index < 0 || index >= size) {
      throw new IndexOutOfBoundsException("write " + index + " of " + size);
    }
    return index;
  }
}
