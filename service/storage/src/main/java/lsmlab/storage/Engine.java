package lsmlab.storage;

import java.nio.file.Path;

/**
 * An ordered key-value store: what the server keeps its pairs in.
 *
 * <p>Keys are byte strings of 1 to {@value #KEY_BYTES_MAX} bytes, ordered lexicographically by unsigned byte. Values
 * are byte strings of 0 bytes or more. All methods may be called by any number of threads at once.
 *
 * <p><b>Acknowledged means kept.</b> When {@code put} or {@code delete} returns, the write survives what the store's
 * {@link Durability} promises; when it throws, the write may or may not be there after a restart, and is never half
 * there. A {@code get} that starts after a write has returned sees that write or a later one.
 *
 * <p>The caller keeps its arrays: an engine copies what it stores and never changes what it was given.
 */
public interface Engine extends WriteSink<RuntimeException>, AutoCloseable {

  /** Longest key in bytes. */
  int KEY_BYTES_MAX = 65_535;

  /**
   * Looks a key up and, where it is present, shows its value to the sink exactly once, on this thread.
   *
   * @return whether the key is present
   * @throws CorruptionException if what is stored fails its checksum
   */
  boolean get(byte[] key, int keyOffset, int keyLength, ValueSink sink);

  /** The value in an array of its own, or null where the key is absent. */
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
   * Stores the pair and returns once it is as durable as promised.
   *
   * @throws OverloadedException if writes are held back (flushes do not keep up): nothing was written, try later
   * @throws ReadOnlyException if the store no longer takes writes (disk full, or a failed sync): nothing acknowledged is lost
   */
  @Override
  void put(
      byte[] key, int keyOffset, int keyLength, byte[] value, int valueOffset, int valueLength);

  /** Stores the pair; see the form with slices. */
  default void put(byte[] key, byte[] value) {
    put(key, 0, key.length, value, 0, value.length);
  }

  /** Removes the key, present or not; throws as {@code put} does. */
  @Override
  void delete(byte[] key, int keyOffset, int keyLength);

  /** Removes the key, present or not. */
  default void delete(byte[] key) {
    delete(key, 0, key.length);
  }

  /**
   * Does several writes in their order and returns once each of them is as durable as promised or has failed: one hand-over
   * to the kernel, or one sync, may serve them all. They are not a transaction: each is there or not by itself, as if it
   * had been handed over alone, and {@link WriteBatch#failure} tells what {@code put} or {@code delete} would have thrown.
   *
   * <p>Unless the engine knows better, one after the other.
   *
   * @throws IllegalStateException if the store is closed: nothing was written
   */
  default void write(WriteBatch batch) {
    batch.writeEach(this);
  }

  /**
   * The pairs with {@code from ≤ key < to} in key order, as they were at the moment of this call. Close it: it keeps
   * tables and memtables alive.
   *
   * @param to null for no upper bound
   */
  Scan scan(byte[] from, byte[] to);

  /**
   * Makes a store of its own of everything that was written before this call, in a new directory, by hard links: it takes no
   * room until the two differ. Reads and writes go on.
   *
   * @param directory absolute; must not exist, its parent must, on the store's file system
   * @throws CheckpointException if none can be made there
   * @throws ReadOnlyException if what is in memory cannot be flushed
   * @throws UnsupportedOperationException if the engine makes none
   */
  default void checkpoint(Path directory) {
    throw new UnsupportedOperationException("this engine makes no checkpoints");
  }

  /** Seals the memtable and returns when everything written before this call is in tables. */
  void flush();

  /** Merges all tables into as few as the layout allows; returns when done. */
  void compact();

  /** Returns when no flush and no compaction is running or due. */
  void quiesce();

  /**
   * Returns if the store takes writes, or refuses them for a passing reason such as a full disk.
   *
   * @throws ReadOnlyException if it takes none until it is opened again
   */
  default void checkWritable() {}

  /** Counters since the store was opened and gauges of this moment; cheap enough for a scrape a second. */
  EngineStats stats();

  /** Finishes what runs, makes everything durable, releases files. Idempotent. No call may follow or overlap it. */
  @Override
  void close();
}
