package lsmlab.peers;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantLock;
import lsmlab.storage.CorruptionException;
import lsmlab.storage.Durability;
import lsmlab.storage.Engine;
import lsmlab.storage.EngineStats;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.ReadOnlyException;
import lsmlab.storage.Scan;
import lsmlab.storage.ValueSink;
import lsmlab.storage.WriteBatch;
import lsmlab.storage.WriteSink;
import org.h2.mvstore.DataUtils;
import org.h2.mvstore.MVMap;
import org.h2.mvstore.MVStore;
import org.h2.mvstore.MVStoreException;
import org.h2.mvstore.type.ByteArrayDataType;

/**
 * H2's MVStore: a B-tree that copies changed pages and appends them to one file in chunks.
 *
 * <p>It has no log. A change reaches the file only with {@code commit()}, which writes every
 * changed page. To keep the promise of the interface, each write waits for a commit that covers it
 * ({@link Durability#PROCESS}) and for a {@code sync()} after it ({@link Durability#POWER}).
 * Writers that arrive during a commit share the next one:
 *
 * <pre>
 *   writer: map.put, number = ++written, lock, committed ≥ number? done.
 *           else last = written, commit, [sync], committed = last, unlock
 * </pre>
 *
 * A put takes its number after it has changed the map, so a commit that starts after {@code last}
 * was read includes every write up to {@code last}.
 *
 * <p>Uses MVStore's defaults, except for a page cache of 1 GiB of heap (system property {@value
 * #CACHE_PROPERTY}, bytes). Of the options, only directory and durability apply. MVStore reuses the
 * space of replaced chunks after 45 seconds.
 */
public final class MvStoreEngine implements Engine {

  /** System property with the bytes of the page cache, which is in the heap. */
  public static final String CACHE_PROPERTY = "lsmlab.mvstore.cache_bytes";

  private static final long CACHE_BYTES = 1L << 30;
  private static final int FILL_PERCENT = 95;
  private static final int COMPACT_BYTES = 64 << 20;
  private static final int COMPACT_ROUNDS_MAX = 64;
  private static final String FILE = "store.mv";

  private final ReentrantLock commitLock = new ReentrantLock();
  private final AtomicLong written = new AtomicLong();
  private final AtomicBoolean closed = new AtomicBoolean();
  private final LongAdder commits = new LongAdder();
  private final LongAdder commitNanos = new LongAdder();
  private final boolean acknowledgeEach;
  private final boolean sync;
  private final Path file;
  private final MVStore store;
  private final MVMap<byte[], byte[]> map;

  /** Changes pages in memory only, which promises nothing. */
  private final WriteSink<RuntimeException> changes =
      new WriteSink<RuntimeException>() {
        @Override
        public void put(
            byte[] key, int keyOffset, int keyLength, byte[] value, int from, int length) {
          map.put(Slices.copy(key, keyOffset, keyLength), Slices.copy(value, from, length));
        }

        @Override
        public void delete(byte[] key, int keyOffset, int keyLength) {
          map.remove(Slices.view(key, keyOffset, keyLength));
        }
      };

  private long committed; // guarded by commitLock

  private MvStoreEngine(LsmOptions options, boolean acknowledgeEach) {
    this.acknowledgeEach = acknowledgeEach;
    sync = options.durability() == Durability.POWER;
    file = options.directory().resolve(FILE);
    long cacheBytes = Slices.bytesProperty(CACHE_PROPERTY, CACHE_BYTES);
    store =
        new MVStore.Builder()
            .fileName(file.toString())
            .cacheSize(Math.toIntExact(cacheBytes >> 20))
            .open();
    map =
        store.openMap(
            "pairs",
            new MVMap.Builder<byte[], byte[]>()
                .keyType(ByteArrayDataType.INSTANCE)
                .valueType(ByteArrayDataType.INSTANCE));
  }

  /** Opens or creates the store. */
  public static MvStoreEngine open(LsmOptions options) {
    return open(options, true);
  }

  /**
   * Opens or creates the store to load many pairs. A write is durable only after a later {@link
   * #flush} or {@link #close}, so that a load does not commit each pair.
   */
  public static MvStoreEngine openForLoading(LsmOptions options) {
    return open(options, false);
  }

  private static MvStoreEngine open(LsmOptions options, boolean acknowledgeEach) {
    Path directory = options.directory();
    try {
      Files.createDirectories(directory);
      MvStoreEngine engine = new MvStoreEngine(options, acknowledgeEach);
      engine.commit(engine.written.incrementAndGet());
      try (FileChannel entries = FileChannel.open(directory, StandardOpenOption.READ)) {
        entries.force(true);
      }
      return engine;
    } catch (IOException e) {
      throw new UncheckedIOException("cannot make the store's directory " + directory, e);
    } catch (MVStoreException e) {
      throw translated("cannot open the store " + directory, e);
    }
  }

  @Override
  public boolean get(byte[] key, int keyOffset, int keyLength, ValueSink sink) {
    byte[] value = find(key, keyOffset, keyLength);
    if (value == null) {
      return false;
    }
    sink.accept(MemorySegment.ofArray(value), 0, value.length);
    return true;
  }

  @Override
  public byte[] get(byte[] key) {
    byte[] value = find(key, 0, key.length);
    return value == null ? null : value.clone();
  }

  private byte[] find(byte[] key, int offset, int length) {
    Slices.checkKey(key, offset, length);
    try {
      return map.get(Slices.view(key, offset, length));
    } catch (MVStoreException e) {
      throw translated("get", e);
    }
  }

  @Override
  public void put(
      byte[] key, int keyOffset, int keyLength, byte[] value, int valueOffset, int valueLength) {
    Slices.checkKey(key, keyOffset, keyLength);
    try {
      changes.put(key, keyOffset, keyLength, value, valueOffset, valueLength);
      acknowledge();
    } catch (MVStoreException e) {
      throw translated("put", e);
    }
  }

  @Override
  public void delete(byte[] key, int keyOffset, int keyLength) {
    Slices.checkKey(key, keyOffset, keyLength);
    try {
      changes.delete(key, keyOffset, keyLength);
      acknowledge();
    } catch (MVStoreException e) {
      throw translated("delete", e);
    }
  }

  /**
   * Commits all writes at once. If that fails, each of them may or may not be in the store, as with
   * a single write.
   */
  @Override
  public void write(WriteBatch batch) {
    try {
      batch.writeTo(changes);
      acknowledge();
    } catch (MVStoreException e) {
      batch.failAll(translated("write", e));
    }
  }

  private void acknowledge() {
    long number = written.incrementAndGet();
    if (acknowledgeEach) {
      commit(number);
    }
  }

  private void commit(long number) {
    commitLock.lock();
    try {
      if (committed >= number) {
        return;
      }
      long last = written.get();
      long start = System.nanoTime();
      store.commit();
      if (sync) {
        store.sync();
      }
      commitNanos.add(System.nanoTime() - start);
      commits.increment();
      committed = last;
    } finally {
      commitLock.unlock();
    }
  }

  @Override
  public Scan scan(byte[] from, byte[] to) {
    return new MvStoreScan(store, map, from, to);
  }

  @Override
  public void flush() {
    try {
      commit(written.incrementAndGet());
      store.sync();
    } catch (MVStoreException e) {
      throw translated("flush", e);
    }
  }

  /**
   * Rewrites sparsely filled chunks. The file keeps its length, because MVStore's {@code
   * compactFile}, which would shorten it, fails an internal assertion in this version.
   */
  @Override
  public void compact() {
    try {
      flush();
      int rounds = 0;
      while (rounds++ < COMPACT_ROUNDS_MAX && store.compact(FILL_PERCENT, COMPACT_BYTES)) {
        flush();
      }
    } catch (MVStoreException e) {
      throw translated("compact", e);
    }
  }

  @Override
  public void quiesce() {
    flush();
  }

  /** Returns statistics in which a commit counts as a flush, and the file as one table. */
  @Override
  public EngineStats stats() {
    return new EngineStats(
        store.getUnsavedMemory(),
        0,
        commits.sum(),
        0,
        commitNanos.sum(),
        0,
        0,
        0,
        1,
        fileBytes(),
        0,
        0,
        0,
        0,
        0);
  }

  private long fileBytes() {
    try {
      return Files.size(file);
    } catch (IOException e) {
      throw new UncheckedIOException("cannot read the size of " + file, e);
    }
  }

  @Override
  public void close() {
    if (!closed.compareAndSet(false, true)) {
      return;
    }
    try {
      flush();
      store.close();
    } catch (MVStoreException e) {
      throw translated("close", e);
    } finally {
      store.closeImmediately();
    }
  }

  /** Translates an error of MVStore into one of the interface. */
  static RuntimeException translated(String doing, MVStoreException e) {
    String message = "mvstore: " + doing + ": " + e.getMessage();
    return switch (e.getErrorCode()) {
      case DataUtils.ERROR_FILE_CORRUPT,
          DataUtils.ERROR_CHUNK_NOT_FOUND,
          DataUtils.ERROR_BLOCK_NOT_FOUND,
          DataUtils.ERROR_READING_FAILED ->
          new CorruptionException(message, e);
      case DataUtils.ERROR_WRITING_FAILED -> new ReadOnlyException(message, e);
      default -> new IllegalStateException(message, e);
    };
  }
}
