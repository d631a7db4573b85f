package lsmlab.storage.lsm;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.AccessDeniedException;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import lsmlab.storage.CorruptionException;
import lsmlab.storage.Durability;
import lsmlab.storage.Engine;
import lsmlab.storage.EngineStats;
import lsmlab.storage.Limits;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.Scan;
import lsmlab.storage.ValueSink;
import lsmlab.storage.WriteBatch;
import lsmlab.storage.cursor.MergingCursor;
import lsmlab.storage.file.OsStoreDirectory;
import lsmlab.storage.file.StoreDirectory;
import lsmlab.storage.manifest.TableEntry;
import lsmlab.storage.memtable.ChunkPool;
import lsmlab.storage.memtable.Memtable;
import lsmlab.storage.stats.LevelTraffic;
import lsmlab.storage.stats.LookupCounts;
import lsmlab.storage.table.Lookup;
import lsmlab.storage.version.LsmScan;
import lsmlab.storage.version.MissAdvisor;
import lsmlab.storage.version.OpenScans;
import lsmlab.storage.version.Version;
import lsmlab.storage.version.VersionSet;
import lsmlab.storage.wal.WalWriter;

/**
 * A log-structured merge tree. Thread-safe.
 *
 * <p>A write goes through the {@link WriteController}, which may hold it back, and the {@link
 * CommitPipeline} into the WAL and the active memtable. A full memtable is sealed, and a {@link
 * Flusher} thread writes it to a table of level 0. The {@link Compactor} merges tables. A lookup
 * searches the active memtable, the sealed ones, the tables of level 0, newest first, and one table
 * of each further level. It stops at the first hit, takes no lock, and allocates nothing.
 *
 * <p>A {@link Version} is the content of the store at one moment. {@link VersionSet} explains how
 * it changes.
 */
public final class LsmEngine implements Engine {

  private final StoreDirectory directory;
  private final LsmOptions options;
  private final Health health = new Health();
  private final ChunkPool pool = new ChunkPool();
  private final VersionSet versions;
  private final WalLifecycle logs;
  private final WalPreallocator walPreallocator;
  private final ActiveWal wal;
  private final CommitPipeline pipeline;
  private final WriteController controller;
  private final Flusher flusher;
  private final Compactor compactor;
  private final OpenScans scans;
  private final MissAdvisor missAdvisor;
  private final LookupCounts lookupCounts = new LookupCounts();
  private final StatsCollector stats;
  private final AtomicInteger closed = new AtomicInteger();

  /**
   * Opens a store. Creates it if it does not exist.
   *
   * @throws UncheckedIOException if the store cannot be read or written, or is open elsewhere
   * @throws CorruptionException if acknowledged writes are damaged or missing; the store is left
   *     unchanged
   */
  public static LsmEngine open(LsmOptions options) {
    try {
      return open(options, new OsStoreDirectory(options.directory()));
    } catch (IOException e) {
      throw cannotOpen(options.directory().toString(), e);
    }
  }

  /**
   * Opens a store in the given directory, which the engine closes when it is closed. The path in
   * the options is not used.
   */
  public static LsmEngine open(LsmOptions options, StoreDirectory directory) {
    return open(options, directory, MissAdvisor.MACHINE);
  }

  /**
   * Opens a store as if the machine had the given amount of memory.
   *
   * @param memoryBytes returns the memory of the machine or the container in bytes
   */
  static LsmEngine open(LsmOptions options, StoreDirectory directory, LongSupplier memoryBytes) {
    try {
      try {
        directory.lock();
        return new LsmEngine(options, directory, memoryBytes);
      } catch (IOException | RuntimeException | Error e) {
        directory.close();
        throw e;
      }
    } catch (IOException e) {
      throw cannotOpen(directory.describe(""), e);
    }
  }

  private static UncheckedIOException cannotOpen(String what, IOException e) {
    String message = e.getMessage();
    if (e instanceof AccessDeniedException) { // Its message is only the path.
      message +=
          ": permission denied: make it readable and writable for the user who runs the service";
    } else if (e instanceof NoSuchFileException) { // So is this one's.
      message += ": no such file: restore it, or the whole store, from a copy";
    }
    return new UncheckedIOException("cannot open the store " + what + ": " + message, e);
  }

  private LsmEngine(LsmOptions options, StoreDirectory directory, LongSupplier memoryBytes)
      throws IOException {
    this.options = options;
    this.directory = directory;
    this.scans = new OpenScans(options);
    this.logs = new WalLifecycle(directory, options);
    LevelTraffic traffic = new LevelTraffic(TableEntry.LEVEL_BOTTOM + 1);
    try (Recovery recovery = new Recovery(directory, pool)) {
      recovery.run();
      long firstLog = recovery.newFileNumber();
      WalWriter log = logs.beginFirst(recovery, firstLog, health);

      List<Memtable> sealed = new ArrayList<>(recovery.oldestFirst());
      Collections.reverse(sealed);
      Memtable active = new Memtable(pool, firstLog);
      Version first = new Version(active, sealed, recovery.tables());
      active.release();
      versions = new VersionSet(directory, recovery.takeManifest(), recovery.nextFile(), first);
      missAdvisor = new MissAdvisor(versions, memoryBytes);
      walPreallocator = new WalPreallocator(directory, versions);
      compactor = new Compactor(directory, options, versions, health, traffic, this::tablesChanged);
      controller = new WriteController(options, versions, health, compactor, this::sealMemtable);
      FlushEvents flushEvents =
          new FlushEvents(walPreallocator, traffic, controller, compactor, this::tablesChanged);
      flusher = new Flusher(directory, options, versions, health, flushEvents);
      MemtableRotation memtables = new MemtableRotation(options, versions, pool, flusher, scans);
      wal = new ActiveWal(logs, walPreallocator, health, log, recovery.lastLog());
      pipeline =
          new CommitPipeline(memtables, wal, health, options.durability(), recovery.sequence());
      stats =
          new StatsCollector(flusher, compactor, pipeline, wal, controller, lookupCounts, traffic);
      recovery.oldestFirst().forEach(flusher::add);
    } catch (IOException | RuntimeException | Error e) {
      pool.close();
      throw e;
    }
    versions.runSoon(missAdvisor::tablesChanged);
    flusher.start();
    compactor.start();
  }

  /** Called by a flush or compaction thread after each publication of tables. */
  private void tablesChanged() {
    scans.enforceSoon(versions);
    controller.roomMade();
    missAdvisor.tablesChanged();
  }

  @Override
  public boolean get(byte[] key, int keyOffset, int keyLength, ValueSink sink) {
    Limits.checkKey(key, keyOffset, keyLength);
    int ticket = versions.gate().enter();
    try {
      Version version = versions.current();
      if (version == null) {
        throw closedException();
      }
      return version.get(key, keyOffset, keyLength, sink, lookupCounts) == Lookup.FOUND;
    } finally {
      versions.gate().exit(ticket);
    }
  }

  @Override
  public byte[] get(byte[] key) {
    ArraySink sink = new ArraySink();
    return get(key, 0, key.length, sink) ? sink.value : null;
  }

  @Override
  public void put(
      byte[] key, int keyOffset, int keyLength, byte[] value, int valueOffset, int valueLength) {
    Limits.checkKey(key, keyOffset, keyLength);
    Limits.checkValue(value, valueOffset, valueLength);
    checkSize(valueLength);
    write(Write.begin(key, keyOffset, keyLength, value, valueOffset, valueLength));
  }

  @Override
  public void delete(byte[] key, int keyOffset, int keyLength) {
    Limits.checkKey(key, keyOffset, keyLength);
    write(Write.begin(key, keyOffset, keyLength, null, 0, 0));
  }

  /**
   * Refuses a value so large that its flush might run out of memory after the value was
   * acknowledged.
   */
  private void checkSize(int valueLength) {
    if (valueLength > options.valueBytesMax()) {
      throw new IllegalArgumentException(
          "the value has %2$d bytes, but with this heap at most %1$d bytes are allowed: a larger heap (-Xmx) allows larger values"
              .formatted(options.valueBytesMax(), valueLength));
    }
  }

  /** Waits until a write of a batch may proceed. */
  private void admit(long bytes, int valueLength) {
    checkSize(valueLength);
    controller.admit(bytes);
  }

  private void write(Write write) {
    try {
      checkOpen();
      controller.admit(write.bytes());
      pipeline.submit(write);
    } finally {
      write.end();
    }
  }

  @Override
  public void write(WriteBatch batch) {
    checkOpen();
    BatchWrites.commit(batch, this::admit, pipeline);
  }

  @Override
  public Scan scan(byte[] from, byte[] to) {
    // Take the version first, so that a write which it lacks is later than everything in it.
    Version version = versions.acquire();
    try {
      long sequence = pipeline.visible();
      byte[] ownTo = to == null ? null : to.clone();
      return new LsmScan(
          version, new MergingCursor(version.cursors(sequence)), scans, from.clone(), ownTo);
    } catch (RuntimeException | Error e) {
      VersionSet.releaseQuietly(version);
      throw e;
    }
  }

  private void sealMemtable() {
    pipeline.submit(Write.seal());
  }

  @Override
  public void flush() {
    checkOpen();
    flushMemtables();
  }

  private void flushMemtables() {
    long upTo = versions.logInUse();
    sealMemtable();
    if (versions.logInUse() == upTo) {
      upTo--; // The memtable was empty.
    }
    flusher.awaitFlushed(upTo);
  }

  @Override
  public void compact() {
    checkOpen();
    compactor.compactAll();
  }

  @Override
  public void quiesce() {
    checkOpen();
    flusher.awaitFlushed(versions.logInUse() - 1);
    compactor.awaitIdle();
  }

  @Override
  public void checkWritable() {
    health.checkWritable();
  }

  @Override
  public EngineStats stats() {
    Version version = versions.acquire();
    try {
      return stats.collect(version);
    } finally {
      VersionSet.releaseQuietly(version);
    }
  }

  private void checkOpen() {
    if (closed.get() != 0) {
      throw closedException();
    }
  }

  private static IllegalStateException closedException() {
    return new IllegalStateException("the store is closed");
  }

  @Override
  public void close() {
    if (!closed.compareAndSet(0, 1)) {
      return;
    }
    Exception failure = null;
    for (AutoCloseable part :
        List.<AutoCloseable>of(
            this::flushUnlogged,
            compactor,
            flusher,
            this::closeLog,
            walPreallocator,
            versions,
            directory,
            pool)) {
      try {
        part.close();
      } catch (Exception e) {
        if (failure == null) {
          failure = e;
        } else {
          failure.addSuppressed(e);
        }
      }
    }
    if (failure instanceof IOException e) {
      throw new UncheckedIOException("closing the store failed: " + e.getMessage(), e);
    }
    if (failure != null) {
      throw new IllegalStateException("closing the store failed", failure);
    }
  }

  private void flushUnlogged() {
    if (options.durability() == Durability.NONE) {
      flushMemtables();
    }
  }

  private void closeLog() throws IOException {
    logs.close(wal.close(), versions);
  }

  /**
   * Keeps a copy of the value. Needs one small object, whereas a lambda would need two and an
   * array.
   */
  private static final class ArraySink implements ValueSink {
    private byte[] value;

    @Override
    public void accept(MemorySegment source, long offset, int length) {
      value = ValueSink.copy(source, offset, length);
    }
  }
}
