package lsmlab.storage.textbook;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import lsmlab.storage.Durability;
import lsmlab.storage.Engine;
import lsmlab.storage.EngineStats;
import lsmlab.storage.FlushBacklog;
import lsmlab.storage.Limits;
import lsmlab.storage.LsmOptions;
import lsmlab.storage.OverloadedException;
import lsmlab.storage.ReadOnlyException;
import lsmlab.storage.ReadPath;
import lsmlab.storage.Scan;
import lsmlab.storage.ValueSink;
import lsmlab.storage.concurrent.Threads;
import lsmlab.storage.event.EventLog;
import lsmlab.storage.file.Bytes;
import lsmlab.storage.file.OsStoreDirectory;
import lsmlab.storage.file.StoreDirectory;

/**
 * The teaching engine; the package says how it works and what it lacks. Thread-safe.
 *
 * <p>Protocol: {@link State} is immutable, and a read works on the one that it found. A write holds
 * the read lock while it adds to the active memtable, so that whoever holds the write lock finds no
 * write in progress. Only the holder of the write lock replaces the state:
 *
 * <pre>
 *   seal      active memtable ─► front of {@code older}, and a task for the flush threads
 *   flush     a memtable in {@code older} ─► its table, at the same place
 *   compact   the oldest tables in {@code older} ─► one table, at their place
 * </pre>
 *
 * <p>So {@code older} stays ordered from newest to oldest even if a later flush ends first.
 *
 * <p>These options apply: directory, flush threshold, flush threads, flush backlog, read
 * path, bloom bits, and {@link Durability#POWER}, which syncs each table. If a flush fails, the
 * store takes no further writes. Its memtables can still be read; they are lost when it is closed.
 *
 * <p>One long file, so that a write can be followed from the memtable through flush and compaction
 * to the reads, top-down.
 */
public final class TextbookEngine implements Engine {

  /** The engine's name, and that of the directory of its files in a data directory. */
  public static final String NAME = "textbook";

  /** Bits for each key in the bloom filters of new tables, if they have any. */
  public static final int BLOOM_BITS_PER_KEY = 10;

  /**
   * @param active receives the writes
   * @param older sealed memtables and tables, newest first
   */
  private record State(SkipListMemtable active, List<Source> older) {

    /** Returns the memtables that wait for a flush thread, or are being flushed. */
    List<SkipListMemtable> sealed() {
      return older.stream()
          .filter(SkipListMemtable.class::isInstance)
          .map(SkipListMemtable.class::cast)
          .toList();
    }

    /** Returns all tables, newest first. */
    List<MappedTable> tables() {
      return older.stream()
          .filter(MappedTable.class::isInstance)
          .map(MappedTable.class::cast)
          .toList();
    }
  }

  private final StoreDirectory directory;
  private final LsmOptions options;
  private final FlushBacklog backlog;
  private final ExecutorService flushThreads;
  private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();

  /** Signalled when a flush has ended, well or not. */
  private final Condition flushEnded = lock.writeLock().newCondition();

  private final ReentrantLock compactionLock = new ReentrantLock();
  private volatile State state; // replaced under the write lock
  private volatile Throwable failure; // of a flush; set once
  private boolean closed; // guarded by the write lock

  private final LongAdder flushes = new LongAdder();
  private final LongAdder flushBytes = new LongAdder();
  private final LongAdder flushNanos = new LongAdder();
  private final LongAdder compactions = new LongAdder();
  private final LongAdder compactionBytes = new LongAdder();
  private final LongAdder compactionNanos = new LongAdder();
  private final LongAdder stallNanos = new LongAdder();

  /** Opens or creates the store. */
  public static TextbookEngine open(LsmOptions options) {
    return open(options, options.flushBacklog());
  }

  /** Opens or creates the store to load many pairs: a write waits for flushes. */
  public static TextbookEngine openForLoading(LsmOptions options) {
    return open(options, FlushBacklog.BLOCK);
  }

  private static TextbookEngine open(LsmOptions options, FlushBacklog backlog) {
    try {
      return open(options, backlog, new OsStoreDirectory(options.directory()));
    } catch (IOException e) {
      throw new UncheckedIOException(
          "cannot open the store " + options.directory() + ": " + e.getMessage(), e);
    }
  }

  /** Opens or creates the store in a directory, which the engine closes when it is closed. */
  static TextbookEngine open(LsmOptions options, FlushBacklog backlog, StoreDirectory directory)
      throws IOException {
    try {
      directory.lock();
      return new TextbookEngine(options, backlog, directory);
    } catch (IOException | RuntimeException | Error e) {
      directory.close();
      throw e;
    }
  }

  private TextbookEngine(LsmOptions options, FlushBacklog backlog, StoreDirectory directory)
      throws IOException {
    this.directory = directory;
    this.options = options;
    this.backlog = backlog;
    List<Source> tables = new ArrayList<>();
    long last = 0;
    for (MappedTable.Name name : cleanedUp()) {
      tables.add(new MappedTable(directory, name, options.bloomBitsPerKey() > 0));
      last = Math.max(last, name.last());
    }
    state = new State(new SkipListMemtable(last + 1), List.copyOf(tables));
    AtomicInteger started = new AtomicInteger();
    flushThreads =
        Executors.newFixedThreadPool(
            options.flushThreads(),
            body -> Threads.daemon("lsmlab-flush-" + started.getAndIncrement(), body));
  }

  /** Returns the tables, newest first. Deletes what a killed process left behind. */
  private List<MappedTable.Name> cleanedUp() throws IOException {
    List<MappedTable.Name> names = new ArrayList<>();
    for (String file : directory.list()) {
      MappedTable.Name name = MappedTable.Name.parse(file);
      if (name != null) {
        names.add(name);
      } else if (file.endsWith(TableFile.PART_SUFFIX)) {
        directory.delete(file);
      }
    }
    List<MappedTable.Name> current = new ArrayList<>();
    for (MappedTable.Name name : names) {
      if (names.stream().anyMatch(other -> other.replaces(name))) {
        directory.delete(name.toString());
      } else {
        current.add(name);
      }
    }
    current.sort(Comparator.comparingLong(MappedTable.Name::last).reversed());
    return current;
  }

  @Override
  public boolean get(byte[] key, int keyOffset, int keyLength, ValueSink sink) {
    Limits.checkKey(key, keyOffset, keyLength);
    MemorySegment wanted = MemorySegment.ofArray(key).asSlice(keyOffset, keyLength);
    Entry found =
        options.readPath() == ReadPath.MERGE
            ? mergeAndTakeFirst(wanted)
            : searchNewestToOldest(wanted, key, keyOffset, keyLength);
    if (found == null || found.isTombstone()) {
      return false;
    }
    sink.accept(found.value(), 0, (int) found.value().byteSize());
    return true;
  }

  private Entry searchNewestToOldest(MemorySegment wanted, byte[] key, int offset, int length) {
    long hash = options.bloomBitsPerKey() == 0 ? 0 : Bytes.hash(key, offset, length);
    State now = state;
    Entry found = now.active().get(wanted, hash);
    for (int i = 0; found == null && i < now.older().size(); i++) {
      found = now.older().get(i).get(wanted, hash);
    }
    return found;
  }

  private Entry mergeAndTakeFirst(MemorySegment wanted) {
    State now = state;
    Iterator<Entry> merged = merged(now.active().iterator(wanted, null), now.older(), wanted, null);
    Entry first = merged.hasNext() ? merged.next() : null;
    return first != null && Entry.compareKeys(first.key(), wanted) == 0 ? first : null;
  }

  /** Merges the active memtable's entries with those of older sources. */
  private Iterator<Entry> merged(
      Iterator<Entry> active, List<Source> older, MemorySegment from, MemorySegment to) {
    boolean locked = options.readPath() == ReadPath.MERGE;
    List<Iterator<Entry>> newestFirst = new ArrayList<>();
    newestFirst.add(active);
    for (Source source : older) {
      Iterator<Entry> entries = source.iterator(from, to);
      newestFirst.add(
          locked && source instanceof MappedTable table
              ? new MergingIterator.Locked(table.lock(), entries)
              : entries);
    }
    Iterator<Entry> merged = new MergingIterator(newestFirst);
    return locked ? new MergingIterator.Locked(new ReentrantLock(), merged) : merged;
  }

  /**
   * {@inheritDoc}
   *
   * <p>Copies the references to the active memtable's entries in the range, and lets no write happen
   * meanwhile: a skip list has no view of one moment.
   */
  @Override
  public Scan scan(byte[] from, byte[] to) {
    if (to != null && Arrays.compareUnsigned(from, to) >= 0) {
      return new TextbookScan(Collections.emptyIterator());
    }
    MemorySegment first = MemorySegment.ofArray(from.clone());
    MemorySegment end = to == null ? null : MemorySegment.ofArray(to.clone());
    List<Entry> active = new ArrayList<>();
    State now;
    lock.writeLock().lock();
    try {
      now = state;
      now.active().iterator(first, end).forEachRemaining(active::add);
    } finally {
      lock.writeLock().unlock();
    }
    return new TextbookScan(merged(active.iterator(), now.older(), first, end));
  }

  @Override
  public void put(
      byte[] key, int keyOffset, int keyLength, byte[] value, int valueOffset, int valueLength) {
    Limits.checkKey(key, keyOffset, keyLength);
    Limits.checkValue(value, valueOffset, valueLength);
    write(new Entry(copy(key, keyOffset, keyLength), copy(value, valueOffset, valueLength)));
  }

  @Override
  public void delete(byte[] key, int keyOffset, int keyLength) {
    Limits.checkKey(key, keyOffset, keyLength);
    write(new Entry(copy(key, keyOffset, keyLength), null));
  }

  private static MemorySegment copy(byte[] source, int offset, int length) {
    return MemorySegment.ofArray(Arrays.copyOfRange(source, offset, offset + length));
  }

  private void write(Entry entry) {
    while (true) {
      checkWritable();
      lock.readLock().lock();
      try {
        SkipListMemtable active = state.active();
        if (!isFull(active)) {
          active.put(entry);
          return;
        }
      } finally {
        lock.readLock().unlock();
      }
      sealFullMemtable();
    }
  }

  private boolean isFull(SkipListMemtable memtable) {
    return memtable.bytes() >= options.flushThresholdBytes();
  }

  /** Seals the active memtable, unless another writer has done so, or does what the backlog says. */
  private void sealFullMemtable() {
    lock.writeLock().lock();
    try {
      while (isFull(state.active()) && failure == null) {
        if (canSeal()) {
          seal();
        } else if (backlog == FlushBacklog.FAIL) {
          throw new OverloadedException(
              "the memtable is full, and each of the %d flush threads is still flushing another one"
                  .formatted(options.flushThreads()));
        } else {
          long start = System.nanoTime();
          flushEnded.awaitUninterruptibly();
          stallNanos.add(System.nanoTime() - start);
        }
      }
    } finally {
      lock.writeLock().unlock();
    }
  }

  private boolean canSeal() {
    return backlog == FlushBacklog.UNBOUNDED || state.sealed().size() < options.flushThreads();
  }

  /** Seals the active memtable. The caller holds the write lock. */
  private void seal() {
    SkipListMemtable full = state.active();
    List<Source> older = new ArrayList<>(state.older());
    older.addFirst(full);
    state = new State(new SkipListMemtable(full.number() + 1), List.copyOf(older));
    flushThreads.execute(() -> flush(full));
  }

  /** Writes a sealed memtable to a table. Runs on a flush thread. */
  private void flush(SkipListMemtable memtable) {
    if (failure != null) {
      return;
    }
    long start = System.nanoTime();
    try {
      MappedTable table =
          write(new MappedTable.Name(memtable.number(), memtable.number()), memtable.all());
      long nanos = System.nanoTime() - start;
      flushes.increment();
      flushBytes.add(table.bytes());
      flushNanos.add(nanos);
      EventLog.flush(nanos, memtable.bytes(), table.bytes());
      replace(List.of(memtable), table);
    } catch (IOException | RuntimeException | Error e) {
      lock.writeLock().lock();
      try {
        failure = failure == null ? e : failure;
        flushEnded.signalAll();
      } finally {
        lock.writeLock().unlock();
      }
    }
  }

  private MappedTable write(MappedTable.Name name, Iterable<Entry> entries) throws IOException {
    boolean sync = options.durability() == Durability.POWER;
    TableFile.write(directory, name, entries, options.bloomBitsPerKey(), sync);
    return new MappedTable(directory, name, options.bloomBitsPerKey() > 0);
  }

  /** Puts the table at the place of neighbouring sources. */
  private void replace(List<? extends Source> sources, MappedTable table) {
    lock.writeLock().lock();
    try {
      List<Source> older = new ArrayList<>(state.older());
      older.set(older.indexOf(sources.getFirst()), table);
      older.removeAll(sources);
      state = new State(state.active(), List.copyOf(older));
      flushEnded.signalAll();
    } finally {
      lock.writeLock().unlock();
    }
  }

  @Override
  public void flush() {
    lock.writeLock().lock();
    try {
      SkipListMemtable last = state.active();
      while (state.active() == last && !last.isEmpty() && failure == null) {
        if (canSeal()) {
          seal();
        } else {
          flushEnded.awaitUninterruptibly();
        }
      }
      while (failure == null
          && state.sealed().stream().anyMatch(each -> each.number() <= last.number())) {
        flushEnded.awaitUninterruptibly();
      }
    } finally {
      lock.writeLock().unlock();
    }
    checkWritable();
  }

  /** Merges all tables into one, which holds no tombstones. */
  @Override
  public void compact() {
    flush();
    compactionLock.lock();
    try {
      long start = System.nanoTime();
      List<Source> older = state.older();
      int first = older.size();
      while (first > 0 && older.get(first - 1) instanceof MappedTable) {
        first--;
      }
      List<MappedTable> inputs = new ArrayList<>();
      older.subList(first, older.size()).forEach(each -> inputs.add((MappedTable) each));
      if (inputs.size() < 2) {
        return;
      }
      MappedTable.Name name =
          new MappedTable.Name(inputs.getLast().name().first(), inputs.getFirst().name().last());
      MappedTable table = write(name, () -> withoutTombstones(inputs));
      replace(inputs, table);
      for (MappedTable input : inputs) {
        directory.delete(input.name().toString());
      }
      long nanos = System.nanoTime() - start;
      compactions.increment();
      compactionBytes.add(table.bytes());
      compactionNanos.add(nanos);
      EventLog.compaction(
          nanos,
          0,
          0,
          inputs.size(),
          inputs.stream().mapToLong(MappedTable::bytes).sum(),
          table.bytes());
    } catch (IOException e) {
      throw new UncheckedIOException("the tables cannot be merged: " + e.getMessage(), e);
    } finally {
      compactionLock.unlock();
    }
  }

  private static Iterator<Entry> withoutTombstones(List<MappedTable> newestFirst) {
    Scan pairs =
        new TextbookScan(
            new MergingIterator(newestFirst.stream().map(MappedTable::iterator).toList()));
    return new Iterator<>() {
      private boolean atPair = pairs.next();

      @Override
      public boolean hasNext() {
        return atPair;
      }

      @Override
      public Entry next() {
        Entry pair = new Entry(pairs.key(), pairs.value());
        atPair = pairs.next();
        return pair;
      }
    };
  }

  @Override
  public void quiesce() {
    lock.writeLock().lock();
    try {
      while (failure == null && !state.sealed().isEmpty()) {
        flushEnded.awaitUninterruptibly();
      }
    } finally {
      lock.writeLock().unlock();
    }
    compactionLock.lock();
    compactionLock.unlock();
  }

  @Override
  public void checkWritable() {
    Throwable cause = failure;
    if (cause != null) {
      throw new ReadOnlyException(
          "a memtable cannot be flushed, so the store takes no writes: "
              + cause.getMessage()
              + "; what is not in tables yet is lost when the service ends",
          cause);
    }
  }

  @Override
  public EngineStats stats() {
    State now = state;
    List<SkipListMemtable> sealed = now.sealed();
    List<MappedTable> tables = now.tables();
    return new EngineStats(
        now.active().bytes() + sealed.stream().mapToLong(SkipListMemtable::bytes).sum(),
        sealed.size(),
        flushes.sum(),
        flushBytes.sum(),
        flushNanos.sum(),
        compactions.sum(),
        compactionBytes.sum(),
        compactionNanos.sum(),
        tables.size(),
        tables.stream().mapToLong(MappedTable::bytes).sum(),
        tables.stream().mapToLong(MappedTable::negatives).sum(),
        tables.stream().mapToLong(MappedTable::falsePositives).sum(),
        0,
        0,
        stallNanos.sum());
  }

  /**
   * {@inheritDoc}
   *
   * @throws ReadOnlyException if a memtable could not be flushed; its writes are lost
   */
  @Override
  public void close() {
    lock.writeLock().lock();
    try {
      if (closed) {
        return;
      }
      closed = true;
    } finally {
      lock.writeLock().unlock();
    }
    try {
      flush();
    } finally {
      flushThreads.close();
      try {
        directory.close();
      } catch (IOException e) {
        throw new UncheckedIOException("the store cannot be unlocked: " + e.getMessage(), e);
      }
    }
  }
}
