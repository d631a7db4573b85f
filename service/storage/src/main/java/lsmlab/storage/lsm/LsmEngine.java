package lsmlab.storage.lsm;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.file.Path;
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
import lsmlab.storage.TreeStats;
import lsmlab.storage.ValueSink;
import lsmlab.storage.WriteBatch;
import lsmlab.storage.cursor.MergingCursor;
import lsmlab.storage.file.CheckpointTarget;
import lsmlab.storage.file.OsStoreDirectory;
import lsmlab.storage.file.StoreDirectory;
import lsmlab.storage.file.SyncFailedException;
import lsmlab.storage.file.WritableFile;
import lsmlab.storage.manifest.LogEntry;
import lsmlab.storage.manifest.TableEntry;
import lsmlab.storage.memtable.ChunkPool;
import lsmlab.storage.memtable.Memtable;
import lsmlab.storage.stats.LevelTraffic;
import lsmlab.storage.stats.LookupCounts;
import lsmlab.storage.table.Lookup;
import lsmlab.storage.wal.WalFormat;
import lsmlab.storage.wal.WalWriter;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A log-structured merge tree. Thread-safe.
 *
 * <p>A write goes through the {@link WriteController}, which may hold it back, and the {@link CommitPipeline} into the
 * WAL and the active memtable. A full memtable is sealed and a {@link Flusher} thread turns it into a table of level 0;
 * the {@link Compactor} merges tables. A read asks the active memtable, the sealed ones, the tables of level 0 from the
 * newest on, and one table of each further level; the first answer holds. It takes no lock and allocates nothing.
 *
 * <p>What a store consists of at any moment is a {@link Version}; {@link VersionSet} says how it changes.
 */
public final class LsmEngine implements Engine {

  /** Holds a record's header and the longest key, and most groups of records. */
  private static final int LOG_BUFFER_BYTES = 1 << 20;

  private static final Logger LOG = LoggerFactory.getLogger(LsmEngine.class);

  private final StoreDirectory directory;
  private final LsmOptions options;
  private final LongSupplier memoryBytes;
  private final Health health = new Health();
  private final ChunkPool pool = new ChunkPool();
  private final VersionSet versions;
  private final WalPreallocator walPreallocator;
  private final CommitPipeline pipeline;
  private final WriteController controller;
  private final Flusher flusher;
  private final Compactor compactor;
  private final OpenScans scans;
  private final LookupCounts lookupCounts = new LookupCounts();
  private final LevelTraffic traffic = new LevelTraffic(TableEntry.LEVEL_BOTTOM + 1);
  private final AtomicInteger closed = new AtomicInteger();

  /**
   * Opens a store, made where it does not exist.
   *
   * @throws UncheckedIOException if it cannot be read or written, or is open elsewhere
   * @throws CorruptionException if something acknowledged is damaged or missing; the store is left as it is
   */
  public static LsmEngine open(LsmOptions options) {
    try {
      return open(options, new OsStoreDirectory(options.directory()));
    } catch (IOException e) {
      throw cannotOpen(options.directory().toString(), e);
    }
  }

  /** Opens the store in a directory of another kind; the options' path is not used. Closes the directory at the end. */
  public static LsmEngine open(LsmOptions options, StoreDirectory directory) {
    return open(options, directory, () -> Memory.BYTES);
  }

  /**
   * Likewise.
   *
   * @param memoryBytes what the tables have to share: the memory of the machine or the container
   */
  static LsmEngine open(LsmOptions options, StoreDirectory directory, LongSupplier memoryBytes) {
    try {
      directory.lock();
      try {
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
    return new UncheckedIOException("cannot open the store " + what + ": " + e.getMessage(), e);
  }

  private LsmEngine(LsmOptions options, StoreDirectory directory, LongSupplier memoryBytes)
      throws IOException {
    this.options = options;
    this.directory = directory;
    this.memoryBytes = memoryBytes;
    this.scans = new OpenScans(options);
    ByteBuffer logBuffer = ByteBuffer.allocateDirect(LOG_BUFFER_BYTES);
    try (Recovery recovery = new Recovery(directory, pool)) {
      recovery.run();
      long firstLog = recovery.newFileNumber();
      WalWriter log = beginFirstLog(recovery, firstLog, logBuffer);

      List<Memtable> sealed = new ArrayList<>(recovery.oldestFirst());
      Collections.reverse(sealed);
      Memtable active = new Memtable(pool, firstLog);
      Version first = new Version(active, sealed, recovery.tables());
      active.release();
      versions = new VersionSet(directory, recovery.takeManifest(), recovery.nextFile(), first);
      walPreallocator = new WalPreallocator(directory, versions);
      compactor = new Compactor(directory, options, versions, health, traffic, this::tablesMerged);
      controller = new WriteController(options, versions, health, compactor, this::sealMemtable);
      flusher = new Flusher(directory, options, versions, health, new FlushListener());
      pipeline =
          new CommitPipeline(
              new Memtables(logBuffer, recovery.lastLog(), recovery.lastLogLength()),
              health,
              options.durability(),
              log,
              recovery.sequence());
      recovery.oldestFirst().forEach(flusher::add);
    } catch (IOException | RuntimeException | Error e) {
      pool.close();
      throw e;
    }
    versions.runSoon(this::expectMisses);
    flusher.start();
    compactor.start();
  }

  /**
   * The log that takes writes from now on; null if there is no room for it. The store can then be read, and writes are
   * refused until the log can be made.
   */
  private WalWriter beginFirstLog(Recovery recovery, long number, ByteBuffer buffer)
      throws IOException {
    WalWriter log;
    try {
      log =
          new WalWriter(
              directory,
              number,
              options.durability(),
              buffer,
              recovery.lastLog(),
              recovery.lastLogLength(),
              options.logRoomBytes());
    } catch (SyncFailedException e) {
      throw e;
    } catch (IOException e) {
      health.failed(Health.Activity.MAKING_LOG, e);
      return null;
    }
    try {
      recovery.noteLogs(number, options.durability() == Durability.POWER ? log.length() : 0);
    } catch (SyncFailedException e) {
      log.close();
      throw e;
    } catch (IOException e) {
      LOG.warn(
          "the manifest cannot name log {}, so that its loss would not be noticed: {}",
          number,
          e.toString());
    }
    return log;
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

  /** Refuses a value that a flush could not write for lack of memory, after it was acknowledged. */
  private void checkSize(int valueLength) {
    if (valueLength > options.valueBytesMax()) {
      throw new IllegalArgumentException(
          "a value has at most %d bytes here, this one %d: a larger heap takes larger ones"
              .formatted(options.valueBytesMax(), valueLength));
    }
  }

  /** Waits until a write of a batch may go ahead. */
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
    // The version first: a write that it lacks is then later than everything it holds.
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
    long upTo = versions.logInUse();
    sealMemtable();
    if (versions.logInUse() == upTo) {
      upTo--; // Nothing was in it.
    }
    flusher.awaitFlushed(upTo);
  }

  @Override
  public void checkpoint(Path target) {
    checkOpen();
    CheckpointTarget.check(target, options.directory());
    flush();
    try (CheckpointTarget making = CheckpointTarget.make(target, options.directory());
        StoreDirectory other = making.directory()) {
      linkTables(other);
      making.finish();
    } catch (IOException e) {
      throw new UncheckedIOException(
          "the checkpoint " + target + " cannot be made: " + e.getMessage(), e);
    }
  }

  /** Makes a checkpoint in an empty directory. */
  void checkpoint(StoreDirectory target) throws IOException {
    flush();
    linkTables(target);
  }

  private void linkTables(StoreDirectory target) throws IOException {
    Version version = versions.acquire();
    try {
      // Asked for after the version is there: it is greater than all numbers in it.
      Checkpoint.write(version, directory, target, versions.nextFile());
    } finally {
      VersionSet.releaseQuietly(version);
    }
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
      TreeStats tree = treeStats(version.tables());
      return new EngineStats(
          version.memtableBytes(),
          version.sealedCount(),
          flusher.flushes(),
          flusher.flushBytes(),
          flusher.flushNanos(),
          compactor.compactions(),
          // A flush writes to level 0 alone, a merge never.
          tree.levels().stream().skip(1).mapToLong(TreeStats.Level::bytesWritten).sum(),
          compactor.nanos(),
          version.tables().count(),
          version.tables().bytes(),
          lookupCounts.filtered(),
          lookupCounts.falsePositives(),
          tree.walBytes(),
          pipeline.logSyncs(),
          tree.stallNanos().values().stream().mapToLong(Long::longValue).sum(),
          tree);
    } finally {
      VersionSet.releaseQuietly(version);
    }
  }

  private TreeStats treeStats(TableSet tables) {
    List<TreeStats.Level> levels = new ArrayList<>();
    for (int level = 0; level <= TableEntry.LEVEL_BOTTOM; level++) {
      List<TableSet.Placed> placed =
          level == 0 ? tables.newestFirst() : CompactionPolicy.run(tables, level);
      levels.add(
          new TreeStats.Level(
              level,
              placed.size(),
              CompactionPolicy.bytes(placed),
              compactor.score(tables, level),
              traffic.read(level),
              traffic.written(level)));
    }
    return new TreeStats(
        levels,
        pipeline.acceptedBytes(),
        pipeline.logBytes(),
        lookupCounts.lookups(),
        lookupCounts.absent(),
        lookupCounts.searchesInVain(),
        controller.stallNanos());
  }

  /** Scans may keep more than they may, since the version has changed. */
  private void boundScans() {
    if (scans.count() > 0) {
      versions.runSoon(
          () -> {
            Version version = versions.acquire();
            try {
              scans.enforce(version);
            } finally {
              VersionSet.releaseQuietly(version);
            }
          });
    }
  }

  private void tablesMerged() {
    boundScans();
    controller.roomMade();
    expectMisses();
  }

  /** Where the tables do not fit the memory that there is, of the machine or the container, they must not be read around. */
  private void expectMisses() {
    Version version = versions.acquire();
    try {
      if (version.tables().bytes() > memoryBytes.getAsLong() / 2) {
        version.tables().placed().forEach(placed -> placed.table().expectMisses());
      }
    } finally {
      VersionSet.releaseQuietly(version);
    }
  }

  /** Asked for late, because it takes a cold JVM a tenth of a second. */
  private static final class Memory {
    static final long BYTES =
        ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getTotalMemorySize();
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
    IOException failure = null;
    compactor.close();
    for (AutoCloseable part :
        List.<AutoCloseable>of(flusher, this::closeLog, walPreallocator, versions, directory)) {
      try {
        part.close();
      } catch (IOException e) {
        failure = e;
      } catch (Exception e) {
        throw new IllegalStateException("closing the store failed", e);
      }
    }
    pool.close();
    if (failure != null) {
      throw new UncheckedIOException("closing the store failed: " + failure.getMessage(), failure);
    }
  }

  /** Makes the logs durable and notes in the manifest which there are and how long, so that one that is cut is noticed. */
  private void closeLog() throws IOException {
    List<LogEntry> logs = pipeline.close();
    if (logs.isEmpty()) {
      return;
    }
    List<LogEntry> needed = new ArrayList<>();
    for (LogEntry log : logs) {
      if (log.number() >= versions.firstLog()) {
        needed.add(log);
        if (options.durability() == Durability.PROCESS && log != logs.getLast()) {
          try (WritableFile file =
              directory.openAt(WalFormat.fileName(log.number()), log.length())) {
            file.sync();
          }
        }
      }
    }
    versions.noteLogs(needed);
  }

  /** Keeps a copy of the value: one small object, where a lambda takes two and an array. */
  private static final class ArraySink implements ValueSink {
    private byte[] value;

    @Override
    public void accept(MemorySegment source, long offset, int length) {
      value = ValueSink.copy(source, offset, length);
    }
  }

  /** Who wants to know of flushes. */
  private final class FlushListener implements Flusher.Listener {
    @Override
    public void taken() {
      walPreallocator.prepare();
    }

    @Override
    public void building() {
      walPreallocator.prepare();
    }

    @Override
    public void built(long bytes, long nanos) {
      traffic.addWritten(0, bytes);
      controller.flushed(bytes, nanos);
    }

    @Override
    public void published() {
      boundScans();
      controller.roomMade();
      expectMisses();
      compactor.tablesChanged();
    }
  }

  /** The pipeline's view of the rest; called by its leader alone. */
  private final class Memtables implements CommitPipeline.Memtables {
    private final ByteBuffer logBuffer;
    private final long recoveredLog;
    private final long recoveredLogLength;

    Memtables(ByteBuffer logBuffer, long recoveredLog, long recoveredLogLength) {
      this.logBuffer = logBuffer;
      this.recoveredLog = recoveredLog;
      this.recoveredLogLength = recoveredLogLength;
    }

    @Override
    public WalWriter firstLog() throws IOException {
      return new WalWriter(
          directory,
          active().logNumber(),
          options.durability(),
          logBuffer,
          recoveredLog,
          recoveredLogLength,
          options.logRoomBytes());
    }

    @Override
    public Memtable active() {
      return versions.current().active();
    }

    @Override
    public boolean isSealDue() {
      Version version = versions.current();
      Memtable active = version.active();
      return (active.bytes() >= options.flushThresholdBytes() || active.isFull())
          && version.sealedCount() < options.memtablesMax();
    }

    @Override
    public void seal(WalWriter log) {
      Memtable full = versions.current().active();
      versions.seal(new Memtable(pool, log.number()));
      flusher.add(full);
      boundScans();
    }

    @Override
    public WalWriter newLog(WalWriter previous) throws IOException {
      WalPreallocator.Prepared next = walPreallocator.take();
      return new WalWriter(
          directory,
          next.number(),
          next.file(),
          options.durability(),
          logBuffer,
          previous.number(),
          previous.certainLength(),
          options.logRoomBytes());
    }
  }
}
