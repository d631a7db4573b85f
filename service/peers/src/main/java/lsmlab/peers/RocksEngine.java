package lsmlab.peers;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BiConsumer;
import lsmlab.storage.CompactionStrategy;
import lsmlab.storage.Compression;
import lsmlab.storage.CorruptionException;
import lsmlab.storage.Durability;
import lsmlab.storage.Engine;
import lsmlab.storage.EngineStats;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.ReadOnlyException;
import lsmlab.storage.Scan;
import lsmlab.storage.ValueSink;
import lsmlab.storage.WriteBatch;
import lsmlab.storage.concurrent.Pool;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.BloomFilter;
import org.rocksdb.Cache;
import org.rocksdb.CompressionType;
import org.rocksdb.FlushOptions;
import org.rocksdb.LRUCache;
import org.rocksdb.Options;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.Status;
import org.rocksdb.WriteOptions;

/**
 * RocksDB through rocksdbjni.
 *
 * <p>Uses RocksDB's defaults, except for these: {@code compression}, the same for all levels; a
 * bloom filter of {@code bloomBitsPerKey}; blocks of {@code blockBytes}; an LRU block cache of 2
 * GiB (system property {@value #BLOCK_CACHE_PROPERTY}, bytes); {@code write_buffer_size} is {@code
 * flushThresholdBytes}; {@code disable_auto_compactions} if compaction is off. {@link
 * Durability#POWER} sets {@code WriteOptions.sync}. {@link Durability#PROCESS} is RocksDB's
 * default, which writes each WAL record to the kernel before it returns.
 *
 * <p>If flushes do not keep up, RocksDB blocks the writer. So this engine never throws {@link
 * lsmlab.storage.OverloadedException}.
 *
 * <p>JNI copies a value into a pooled array, which is passed to the sink. {@link #get(byte[])} lets
 * JNI create the resulting array, which takes one copy. WAL bytes and syncs are not counted,
 * because RocksDB counts them only with statistics that slow down every operation.
 */
public class RocksEngine implements Engine {

  /** System property with the bytes of the block cache. */
  public static final String BLOCK_CACHE_PROPERTY = "lsmlab.rocksdb.block_cache_bytes";

  private static final long BLOCK_CACHE_BYTES = 2L << 30;
  private static final int VALUE_BUFFER_BYTES = 4096;
  private static final long QUIESCE_POLL_NANOS = 2_000_000;
  private static final List<String> PENDING =
      List.of(
          "rocksdb.mem-table-flush-pending",
          "rocksdb.num-running-flushes",
          "rocksdb.num-running-compactions");

  private final Pool<byte[]> valueBuffers = new Pool<>(() -> new byte[VALUE_BUFFER_BYTES]);
  private final AtomicBoolean closed = new AtomicBoolean();
  private final RocksEvents events = new RocksEvents();
  final ReadOptions readOptions = new ReadOptions();
  final WriteOptions writeOptions;
  private final BloomFilter bloomFilter;
  private final Cache blockCache;
  private final Options options;
  final RocksDB db;
  private final int levels;
  private final Path path;

  /**
   * Opens the store.
   *
   * @param blockCache cache that is closed with the store
   * @param tuning changes the options after all others are set
   */
  RocksEngine(
      LsmOptions wanted, Cache blockCache, BiConsumer<Options, BlockBasedTableConfig> tuning)
      throws RocksDBException {
    this.blockCache = blockCache;
    writeOptions = new WriteOptions().setSync(wanted.durability() == Durability.POWER);
    bloomFilter = wanted.bloomBitsPerKey() == 0 ? null : new BloomFilter(wanted.bloomBitsPerKey());
    BlockBasedTableConfig tables =
        new BlockBasedTableConfig().setBlockCache(blockCache).setBlockSize(wanted.blockBytes());
    if (bloomFilter != null) {
      tables.setFilterPolicy(bloomFilter);
    }
    options =
        new Options()
            .setCreateIfMissing(true)
            .setCompressionType(
                wanted.compression() == Compression.LZ4
                    ? CompressionType.LZ4_COMPRESSION
                    : CompressionType.NO_COMPRESSION)
            .setWriteBufferSize(wanted.flushThresholdBytes())
            .setDisableAutoCompactions(wanted.compaction() == CompactionStrategy.OFF)
            .setListeners(List.of(events));
    tuning.accept(options, tables);
    options.setTableFormatConfig(tables);
    levels = options.numLevels();
    path = wanted.directory();
    try {
      db = RocksDB.open(options, wanted.directory().toString());
    } catch (RocksDBException e) {
      closeOptions();
      throw e;
    }
  }

  /**
   * Opens or creates the store.
   *
   * @throws IllegalStateException if this jar has no native library for this platform
   * @throws CorruptionException if RocksDB finds the store damaged
   */
  public static RocksEngine open(LsmOptions options) {
    return open(options, Slices.bytesProperty(BLOCK_CACHE_PROPERTY, BLOCK_CACHE_BYTES));
  }

  /** Opens or creates the store with a block cache of this many bytes. */
  public static RocksEngine open(LsmOptions options, long blockCacheBytes) {
    return opened(
        options,
        () -> new RocksEngine(options, new LRUCache(blockCacheBytes), (all, tables) -> {}));
  }

  /** Opens a store. */
  interface Opening<T extends RocksEngine> {
    T open() throws RocksDBException;
  }

  /** Opens or creates the store. Translates RocksDB's errors. */
  static <T extends RocksEngine> T opened(LsmOptions options, Opening<T> opening) {
    loadLibrary();
    try {
      Files.createDirectories(options.directory());
      return opening.open();
    } catch (IOException e) {
      throw new UncheckedIOException("cannot make the store's directory " + options.directory(), e);
    } catch (RocksDBException e) {
      throw translated("cannot open the store " + options.directory(), e);
    }
  }

  /** Loads the native library, as {@link #open} does first. Idempotent. */
  public static void loadLibrary() {
    try {
      RocksDB.loadLibrary();
    } catch (RuntimeException | UnsatisfiedLinkError e) {
      throw new IllegalStateException(
          "engine rocksdb: this build has no RocksDB library that loads on "
              + System.getProperty("os.name")
              + " "
              + System.getProperty("os.arch")
              + "; build the service with -Drocksdb.native='*' to take all platforms' along",
          e);
    }
  }

  @Override
  public boolean get(byte[] key, int keyOffset, int keyLength, ValueSink sink) {
    Slices.checkKey(key, keyOffset, keyLength);
    byte[] buffer = valueBuffers.take();
    try {
      int length = db.get(readOptions, key, keyOffset, keyLength, buffer, 0, buffer.length);
      while (length > buffer.length) {
        buffer = new byte[Math.max(length, 2 * buffer.length)];
        length = db.get(readOptions, key, keyOffset, keyLength, buffer, 0, buffer.length);
      }
      if (length == RocksDB.NOT_FOUND) {
        return false;
      }
      sink.accept(MemorySegment.ofArray(buffer), 0, length);
      return true;
    } catch (RocksDBException e) {
      throw translated("get", e);
    } finally {
      if (buffer.length <= Slices.KEPT_BYTES_MAX) {
        valueBuffers.give(buffer);
      }
    }
  }

  @Override
  public byte[] get(byte[] key) {
    Slices.checkKey(key, 0, key.length);
    try {
      return db.get(readOptions, key);
    } catch (RocksDBException e) {
      throw translated("get", e);
    }
  }

  @Override
  public void put(
      byte[] key, int keyOffset, int keyLength, byte[] value, int valueOffset, int valueLength) {
    Slices.checkKey(key, keyOffset, keyLength);
    try {
      db.put(writeOptions, key, keyOffset, keyLength, value, valueOffset, valueLength);
    } catch (RocksDBException e) {
      throw translated("put", e);
    }
  }

  @Override
  public void delete(byte[] key, int keyOffset, int keyLength) {
    Slices.checkKey(key, keyOffset, keyLength);
    try {
      db.delete(writeOptions, key, keyOffset, keyLength);
    } catch (RocksDBException e) {
      throw translated("delete", e);
    }
  }

  /** Executes all writes with one WAL record and one sync. They succeed or fail together. */
  @Override
  public void write(WriteBatch batch) {
    try (RocksBatch writes = new RocksBatch()) {
      batch.writeTo(writes);
      db.write(writeOptions, writes.batch);
    } catch (RocksDBException e) {
      batch.failAll(translated("write", e));
    }
  }

  @Override
  public Scan scan(byte[] from, byte[] to) {
    return new RocksScan(db, from, to);
  }

  @Override
  public void flush() {
    try (FlushOptions wait = new FlushOptions().setWaitForFlush(true)) {
      db.flush(wait);
    } catch (RocksDBException e) {
      throw translated("flush", e);
    }
  }

  @Override
  public void compact() {
    try {
      db.compactRange();
    } catch (RocksDBException e) {
      throw translated("compact", e);
    }
  }

  @Override
  public void quiesce() {
    while (pending()) {
      LockSupport.parkNanos(QUIESCE_POLL_NANOS);
    }
  }

  private boolean pending() {
    for (String name : PENDING) {
      if (property(name) != 0) {
        return true;
      }
    }
    // With compaction off this stays 1 for ever once level 0 has four tables.
    return !options.disableAutoCompactions() && property("rocksdb.compaction-pending") != 0;
  }

  @Override
  public EngineStats stats() {
    int tables = 0;
    for (int level = 0; level < levels; level++) {
      tables += Integer.parseInt(text("rocksdb.num-files-at-level" + level));
    }
    return events.stats(
        property("rocksdb.cur-size-all-mem-tables"),
        Math.toIntExact(property("rocksdb.num-immutable-mem-table")),
        tables,
        property("rocksdb.total-sst-files-size"));
  }

  private long property(String name) {
    try {
      return db.getLongProperty(name);
    } catch (RocksDBException e) {
      throw translated(name, e);
    }
  }

  private String text(String name) {
    try {
      return db.getProperty(name);
    } catch (RocksDBException e) {
      throw translated(name, e);
    }
  }

  @Override
  public void close() {
    if (!closed.compareAndSet(false, true)) {
      return;
    }
    try {
      db.syncWal();
      db.closeE();
    } catch (RocksDBException e) {
      throw translated("close", e);
    } finally {
      db.close();
      closeOptions();
    }
  }

  private void closeOptions() {
    readOptions.close();
    writeOptions.close();
    options.close();
    if (bloomFilter != null) {
      bloomFilter.close();
    }
    blockCache.close();
    events.close();
  }

  /** Translates an error of RocksDB into one of the interface. */
  static RuntimeException translated(String doing, RocksDBException e) {
    String message = "rocksdb: " + doing + ": " + e.getMessage();
    Status status = e.getStatus();
    if (status == null) {
      return new IllegalStateException(message, e);
    }
    return switch (status.getCode()) {
      case Corruption -> new CorruptionException(message, e);
      // After a failed write RocksDB refuses further ones until it is opened again; reads go on.
      case IOError, Aborted -> new ReadOnlyException(message, e);
      default -> new IllegalStateException(message, e);
    };
  }
}
