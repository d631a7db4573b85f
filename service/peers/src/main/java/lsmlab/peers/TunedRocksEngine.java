package lsmlab.peers;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.Scan;
import lsmlab.storage.ValueSink;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.Cache;
import org.rocksdb.DataBlockIndexType;
import org.rocksdb.Env;
import org.rocksdb.HyperClockCache;
import org.rocksdb.Options;
import org.rocksdb.Priority;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;

/**
 * RocksDB as an expert would tune it, for a fair comparison. Its promises are those of {@link
 * RocksEngine}.
 *
 * <ul>
 *   <li>as many write buffers as the lab's engine has memtables, so as much memory, each with a
 *       bloom filter;
 *   <li>reused WAL files, early write-back of dirty pages, background threads with low priority;
 *   <li>a lock-free block cache (HyperClockCache) and a hash index in each data block;
 *   <li>pooled direct buffers across JNI instead of arrays;
 *   <li>with the system property {@value #DIRECT_CACHE_PROPERTY}, direct I/O and a block cache of
 *       that many bytes, for data larger than memory: the kernel's page cache would hold each block
 *       a second time.
 * </ul>
 */
public final class TunedRocksEngine extends RocksEngine {

  /**
   * System property with the bytes of the block cache for direct I/O. If it is not set, files are
   * read through the page cache.
   */
  public static final String DIRECT_CACHE_PROPERTY = "lsmlab.rocksdb.direct_cache_bytes";

  private static final long CACHE_BYTES = 2L << 30;
  private static final int RECYCLED_LOGS = 2;
  private static final long BYTES_PER_SYNC = 1 << 20;
  private static final double MEMTABLE_BLOOM_RATIO = 0.1;

  private TunedRocksEngine(LsmOptions wanted, boolean direct, Cache cache) throws RocksDBException {
    super(wanted, cache, (options, tables) -> tune(wanted, direct, options, tables));
  }

  /**
   * Opens or creates the store. Throws the same exceptions as {@link RocksEngine#open(LsmOptions)}.
   */
  public static TunedRocksEngine open(LsmOptions options) {
    long directBytes = Slices.bytesProperty(DIRECT_CACHE_PROPERTY, 0);
    return opened(
        options,
        () -> {
          Cache cache =
              new HyperClockCache(directBytes > 0 ? directBytes : CACHE_BYTES, 0, -1, false);
          return new TunedRocksEngine(options, directBytes > 0, cache);
        });
  }

  private static void tune(
      LsmOptions wanted, boolean direct, Options options, BlockBasedTableConfig tables) {
    tables.setDataBlockIndexType(DataBlockIndexType.kDataBlockBinaryAndHash);
    Env env = Env.getDefault();
    env.lowerThreadPoolCPUPriority(Priority.LOW).lowerThreadPoolCPUPriority(Priority.HIGH);
    env.lowerThreadPoolIOPriority(Priority.LOW);
    options
        .setEnv(env)
        .setMaxWriteBufferNumber(wanted.memtablesMax() + 1)
        .setMemtablePrefixBloomSizeRatio(MEMTABLE_BLOOM_RATIO)
        .setMemtableWholeKeyFiltering(true)
        .setRecycleLogFileNum(RECYCLED_LOGS)
        .setBytesPerSync(BYTES_PER_SYNC)
        .setUseDirectReads(direct)
        .setUseDirectIoForFlushAndCompaction(direct);
  }

  @Override
  public boolean get(byte[] key, int keyOffset, int keyLength, ValueSink sink) {
    try (DirectBuffers own = DirectBuffers.take()) {
      ByteBuffer value = find(own, key, keyOffset, keyLength);
      if (value == null) {
        return false;
      }
      sink.accept(MemorySegment.ofBuffer(value), 0, value.remaining());
      return true;
    }
  }

  @Override
  public byte[] get(byte[] key) {
    try (DirectBuffers own = DirectBuffers.take()) {
      ByteBuffer found = find(own, key, 0, key.length);
      if (found == null) {
        return null;
      }
      byte[] value = new byte[found.remaining()];
      found.get(value);
      return value;
    }
  }

  /** Returns the value in a buffer, or null if the key is absent. */
  private ByteBuffer find(DirectBuffers own, byte[] key, int offset, int length) {
    Slices.checkKey(key, offset, length);
    try {
      while (true) {
        ByteBuffer value = own.value().clear();
        int found = db.get(readOptions, own.key(key, offset, length), value);
        if (found == RocksDB.NOT_FOUND) {
          return null;
        }
        if (found <= value.capacity()) {
          return value;
        }
        own.valueWithRoom(found);
      }
    } catch (RocksDBException e) {
      throw translated("get", e);
    }
  }

  @Override
  public void put(
      byte[] key, int keyOffset, int keyLength, byte[] value, int valueOffset, int valueLength) {
    Slices.checkKey(key, keyOffset, keyLength);
    try (DirectBuffers own = DirectBuffers.take()) {
      db.put(
          writeOptions,
          own.key(key, keyOffset, keyLength),
          own.value(value, valueOffset, valueLength));
    } catch (RocksDBException e) {
      throw translated("put", e);
    }
  }

  @Override
  public void delete(byte[] key, int keyOffset, int keyLength) {
    Slices.checkKey(key, keyOffset, keyLength);
    try (DirectBuffers own = DirectBuffers.take()) {
      db.delete(writeOptions, own.key(key, keyOffset, keyLength));
    } catch (RocksDBException e) {
      throw translated("delete", e);
    }
  }

  @Override
  public Scan scan(byte[] from, byte[] to) {
    return new DirectRocksScan(db, from, to);
  }
}
