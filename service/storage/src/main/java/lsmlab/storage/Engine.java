package lsmlab.storage;

/**
 * An ordered key-value store that holds the server's pairs.
 *
 * <p>Keys are 1 to {@value #KEY_BYTES_MAX} bytes long and ordered lexicographically by unsigned
 * byte. Values are 0 or more bytes long. Thread-safe.
 *
 * <p><b>Acknowledged means kept.</b> When {@code put} or {@code delete} returns, the write survives
 * what the store's {@link Durability} promises. When it throws, a restart finds the whole write or
 * nothing of it. A {@code get} that starts after a write has returned sees that write or a later
 * one.
 *
 * <p>An engine copies what it stores and never changes the caller's arrays.
 */
public interface Engine extends WriteSink<RuntimeException>, AutoCloseable {

  /** Longest key in bytes. */
  int KEY_BYTES_MAX = 65_535;

  /**
   * Looks up a key. If it is present, passes its value to the sink exactly once, on this thread.
   *
   * @return whether the key is present
   * @throws CorruptionException if the stored bytes fail their checksum
   */
  boolean get(byte[] key, int keyOffset, int keyLength, ValueSink sink);

  /** Returns a copy of the value, or null if the key is absent. */
  default byte[] get(byte[] key) {
    byte[][] found = new byte[1][];
    get(
        key,
        0,
        key.length,
        (source, offset, length) -> found[0] = ValueSink.copy(source, offset, length));
    return found[0];
  }

  /**
   * Stores the pair. Returns once it is as durable as promised.
   *
   * @throws OverloadedException if flushes or compactions do not keep up; nothing was written, and
   *     a later attempt may succeed
   * @throws ReadOnlyException if the store takes no writes (disk full, or a failed sync); nothing
   *     acknowledged is lost
   */
  @Override
  void put(
      byte[] key, int keyOffset, int keyLength, byte[] value, int valueOffset, int valueLength);

  /** Stores the pair, as {@link #put(byte[], int, int, byte[], int, int)} does. */
  default void put(byte[] key, byte[] value) {
    put(key, 0, key.length, value, 0, value.length);
  }

  /** Removes the key, whether or not it is present. Throws the same exceptions as {@code put}. */
  @Override
  void delete(byte[] key, int keyOffset, int keyLength);

  /** Removes the key, whether or not it is present. */
  default void delete(byte[] key) {
    delete(key, 0, key.length);
  }

  /**
   * Executes the writes in order. Returns once each of them is as durable as promised or has
   * failed. All may share one write to the kernel and one sync. They are not a transaction: each
   * succeeds or fails on its own, and {@link WriteBatch#failure} returns what {@code put} or {@code
   * delete} would have thrown.
   *
   * <p>By default the writes are executed one by one.
   *
   * @throws IllegalStateException if the store is closed; nothing was written
   */
  default void write(WriteBatch batch) {
    batch.writeEach(this);
  }

  /**
   * Returns the pairs with {@code from ≤ key < to} in key order, as they are at the moment of this
   * call. An open scan keeps tables and memtables alive, so close it.
   *
   * @param to null for no upper bound
   */
  Scan scan(byte[] from, byte[] to);

  /** Seals the memtable. Returns once everything written before this call is in tables. */
  void flush();

  /**
   * Compacts all tables into as few as the layout allows. Returns when that is done.
   *
   * @throws CorruptionException if a table is damaged, so that no compaction can take it
   */
  void compact();

  /**
   * Returns once no flush and no compaction is running or due.
   *
   * @throws CorruptionException if a table is damaged, so that no compaction can take it
   */
  void quiesce();

  /**
   * Checks that the store can be written. Also returns while writes are refused only for a time,
   * such as on a full disk.
   *
   * @throws ReadOnlyException if the store takes no writes until it is opened again
   */
  default void checkWritable() {}

  /**
   * Returns counters since the store was opened, and the current values of gauges. Cheap enough to
   * call once a second.
   */
  EngineStats stats();

  /**
   * Finishes running flushes, ends running compactions early, makes all writes durable, and closes
   * all files. Idempotent. No other call may overlap or follow it.
   */
  @Override
  void close();
}
