package lsmlab.storage.table;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import lsmlab.storage.CorruptionException;
import lsmlab.storage.ValueSink;
import lsmlab.storage.cursor.Cursor;
import lsmlab.storage.file.Bytes;
import lsmlab.storage.file.PageAdvice;
import lsmlab.storage.file.StoreDirectory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An open table, whose file is mapped. Thread-safe.
 *
 * <p>Opening a table checks its footer, index, filter and properties. A compressed block is checked
 * each time it is read. An uncompressed block is checked when a lookup reads it for the first time;
 * one bit for each block records that. Checking it each time would cost about as much as the lookup
 * itself, because the check reads the whole block. Compactions and {@link #verify} check every
 * block again, so that later damage is not copied into new tables.
 *
 * <p>A table counts its references. A new table has one. The last {@link #release} unmaps the file,
 * and deletes it if the table was marked obsolete. A reader must hold a reference, or be in a
 * section of a {@link lsmlab.storage.concurrent.ReadGate} and know that somebody holds a reference
 * until the section ends.
 */
public final class Table {

  private static final Logger LOG = LoggerFactory.getLogger(Table.class);

  private final TableFile file;
  private final Arena arena;
  private final MemorySegment bytes;
  private final TableFooter footer;
  private final TableIndex index;
  private final long filterOffset;
  private final long filterLength;
  private final byte[] minKey;
  private final byte[] maxKey;

  /**
   * One bit for each block, set when the block has passed its check. Written without
   * synchronization: if a bit is lost, the block is checked again.
   */
  private final long[] checked;

  private final AtomicInteger references = new AtomicInteger(1);
  private volatile boolean obsolete;

  /** Whether the pages that a lookup needs are probably missing from memory. */
  private volatile boolean random;

  /**
   * A copy of the filter in native memory; null if lookups read the filter in the mapped file.
   * Written before {@link #random}, which publishes it.
   */
  private MemorySegment residentFilter;

  private Table(TableFile file, Arena arena) throws IOException {
    this.file = file;
    this.arena = arena;
    this.bytes = file.map(arena);
    this.footer = new TableFooter(file, bytes);
    this.index = footer.index;
    this.filterOffset = footer.filterOffset;
    this.filterLength = footer.filterLength;
    this.minKey = footer.minKey;
    this.maxKey = footer.maxKey;
    this.checked = new long[(index.blockCount() + 63) >>> 6];
  }

  /**
   * Opens a table with one reference.
   *
   * @throws CorruptionException if it is damaged
   */
  public static Table open(StoreDirectory directory, long number) throws IOException {
    TableFile file = new TableFile(directory, number);
    Arena arena = Arena.ofShared();
    boolean opened = false;
    try {
      Table table = new Table(file, arena);
      opened = true;
      return table;
    } catch (IndexOutOfBoundsException | NegativeArraySizeException e) {
      throw new CorruptionException(
          file.describe() + ": the lengths in a section are inconsistent", e);
    } catch (InternalError e) {
      throw new CorruptionException(file.describe() + ": the file cannot be read", e);
    } finally {
      if (!opened) {
        arena.close();
      }
    }
  }

  /**
   * Opens a table that was just written, before the manifest names it. If that fails with an I/O
   * error, deletes the file: the caller retries with a new file each time, and the failed files
   * would fill the device.
   *
   * @throws CorruptionException if the table is damaged; the file stays for inspection
   */
  public static Table openNew(StoreDirectory directory, long number) throws IOException {
    try {
      return open(directory, number);
    } catch (IOException e) {
      try {
        directory.delete(TableFormat.fileName(number));
      } catch (IOException cannotDelete) {
        e.addSuppressed(cannotDelete);
      }
      throw e;
    }
  }

  /**
   * Looks up a key.
   *
   * @param hash hash of the key, from {@link Bytes#hash}
   * @return a constant of {@link Lookup}
   */
  public int get(long hash, byte[] key, int keyOffset, int keyLength, ValueSink sink) {
    try {
      boolean random = this.random;
      if (filterLength > 0 && !passesFilter(hash, random)) {
        return Lookup.FILTERED;
      }
      int block = findBlock(key, keyOffset, keyLength);
      if (block < 0) {
        return Lookup.ABSENT;
      }
      if (random) {
        readAhead(block, 1);
      }
      return isCompressed(block)
          ? getDecompressed(block, key, keyOffset, keyLength, sink)
          : get(bytes, checkedBlock(block), key, keyOffset, keyLength, sink);
    } catch (InternalError e) {
      throw unreadable(e);
    }
  }

  /** Looks up a key in the block that starts at {@code start}. */
  private static int get(
      MemorySegment bytes, long start, byte[] key, int keyOffset, int keyLength, ValueSink sink) {
    int pair = Block.search(bytes, start, key, keyOffset, keyLength);
    if (pair < 0) {
      return Lookup.ABSENT;
    }
    int value = Block.valueSlot(bytes, start, pair);
    if (value < 0) {
      return Lookup.DELETED;
    }
    int end = Block.valueSlot(bytes, start, pair + 1) & TableFormat.OFFSET_MASK;
    sink.accept(bytes, start + value, end - value);
    return Lookup.FOUND;
  }

  private int getDecompressed(int block, byte[] key, int keyOffset, int keyLength, ValueSink sink) {
    BlockView view = BlockView.POOL.take();
    try {
      view.enter(this, block);
      return get(view.bytes(), view.start(), key, keyOffset, keyLength, sink);
    } finally {
      view.clear();
      BlockView.POOL.give(view);
    }
  }

  private boolean passesFilter(long hash, boolean random) {
    MemorySegment resident = random ? residentFilter : null;
    return resident == null
        ? BloomFilter.mayContain(bytes, filterOffset, filterLength, hash)
        : BloomFilter.mayContain(resident, 0, filterLength, hash);
  }

  /**
   * Prepares lookups for a store that does not fit in memory. From now on a lookup requests its
   * whole block at once, and the kernel reads no other page. By default the kernel also reads many
   * pages around a missing one. If all tables fit in memory, this soon loads them all; if not, the
   * kernel reads the same pages again and again.
   *
   * <p>Copies the filter and the first key of each block into native memory, because the kernel
   * would reclaim their pages. The copies are as large as the filter plus four bytes and a key for
   * each block. The caller must hold a reference.
   */
  public synchronized void expectMisses() {
    if (!random) {
      PageAdvice.random(bytes);
      try {
        index.copyFirstKeys(arena);
        residentFilter = copyOfFilter();
      } catch (OutOfMemoryError | InternalError e) {
        // Keep reading in the mapping. If a page cannot be read, the next lookup reports it.
        LOG.warn("{}: index and filter stay in the mapping: {}", file.describe(), e.getMessage());
      }
      random = true;
    }
  }

  private MemorySegment copyOfFilter() {
    MemorySegment copy = arena.allocate(filterLength, TableFormat.LINE_BYTES);
    return copy.copyFrom(bytes.asSlice(filterOffset, filterLength));
  }

  /**
   * Asks the kernel to read blocks in advance. Ignores blocks after the last one.
   */
  void readAhead(int block, int blocks) {
    long start = index.blockOffset(block);
    int end = Math.min(index.blockCount(), block + blocks);
    PageAdvice.willNeed(bytes, start, index.blockOffset(end) - start);
  }

  /** Whether a cursor must call {@link #readAhead} for its next blocks. */
  boolean missesExpected() {
    return random;
  }

  int blockCount() {
    return index.blockCount();
  }

  /**
   * Returns the last block whose first key is not greater than the key; −1 if all first keys are
   * greater.
   */
  int findBlock(byte[] key, int keyOffset, int keyLength) {
    return index.findBlock(key, keyOffset, keyLength);
  }

  /**
   * Returns the offset of a block in the file; for {@code blockCount()}, the offset after the last
   * block.
   */
  long blockOffset(int block) {
    return index.blockOffset(block);
  }

  boolean isCompressed(int block) {
    return footer.compressed && Block.isCompressed(bytes, index.blockOffset(block));
  }

  /** Returns the whole file. */
  MemorySegment mapped() {
    return bytes;
  }

  /** Returns the offset of a block. Checks the block unless it has been checked before. */
  private long checkedBlock(int block) {
    long bit = 1L << (block & 63);
    if ((checked[block >>> 6] & bit) == 0) {
      checkBlock(block);
      checked[block >>> 6] |= bit;
    }
    return index.blockOffset(block);
  }

  /**
   * Checks the checksum of an uncompressed block, and that its offsets stay within it. Returns its
   * offset.
   */
  long checkBlock(int block) {
    long start = index.blockOffset(block);
    long length = index.blockOffset(block + 1) - start;
    if (start < 0 || length < Block.BYTES_MIN) {
      throw corrupt(start, "the index gives block " + block + " an impossible offset");
    }
    int crc = Bytes.crc32c(bytes, start + Integer.BYTES, length - Integer.BYTES);
    if (crc != Block.checksum(bytes, start)) {
      throw corrupt(start, "the checksum of block " + block + " does not match");
    }
    if (!Block.isSound(bytes, start, length)) {
      throw corrupt(start, "block " + block + " is inconsistent");
    }
    return start;
  }

  /**
   * Returns a cursor that checks each block on entering it. The caller holds a reference until it
   * has finished with the cursor.
   */
  public Cursor cursor() {
    return new TableCursor(this);
  }

  /**
   * Checks every block again, the order of the keys, and that the index, filter and counts agree
   * with the pairs.
   *
   * @throws CorruptionException at the first fault
   */
  public void verify() {
    try {
      new TableVerifier(this).run();
    } catch (InternalError e) {
      throw unreadable(e);
    }
  }

  /** Whether the table has a filter. */
  public boolean hasFilter() {
    return filterLength > 0;
  }

  boolean mayContain(byte[] key) {
    return filterLength == 0
        || BloomFilter.mayContain(
            bytes, filterOffset, filterLength, Bytes.hash(key, 0, key.length));
  }

  public long number() {
    return file.number();
  }

  public long bytes() {
    return bytes.byteSize();
  }

  public long entries() {
    return footer.entries;
  }

  public long tombstones() {
    return footer.tombstones;
  }

  /** Returns the number of the WAL from which this table was flushed; 0 if it was not flushed. */
  public long sourceLog() {
    return footer.sourceLog;
  }

  /** Returns the first key. Do not change it. */
  public byte[] minKey() {
    return minKey;
  }

  /** Returns the last key. Do not change it. */
  public byte[] maxKey() {
    return maxKey;
  }

  /** Whether the key is between the first and the last key of the table. */
  public boolean covers(byte[] key, int keyOffset, int keyLength) {
    int to = keyOffset + keyLength;
    return Arrays.compareUnsigned(key, keyOffset, to, minKey, 0, minKey.length) >= 0
        && Arrays.compareUnsigned(key, keyOffset, to, maxKey, 0, maxKey.length) <= 0;
  }

  /** Takes another reference. The caller already holds one. */
  public void retain() {
    int before = references.getAndIncrement();
    assert before > 0 : file.describe() + " was retained after its end";
  }

  /**
   * Releases a reference. The last one unmaps the file, and deletes it if the table is obsolete.
   */
  public void release() throws IOException {
    int left = references.decrementAndGet();
    assert left >= 0 : file.describe() + " was released too often";
    if (left == 0) {
      arena.close();
      if (obsolete) {
        file.delete();
      }
    }
  }

  /** Marks the table as no longer named by the manifest. The last release then deletes its file. */
  public void markObsolete() {
    assert references.get() > 0 : file.describe() + " was dropped after its end";
    obsolete = true;
  }

  CorruptionException corrupt(long offset, String what) {
    return file.corrupt(offset, what);
  }

  CorruptionException unreadable(InternalError e) {
    return file.unreadable(e);
  }
}
