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
 * An open table: its file, mapped. Thread-safe.
 *
 * <p>Footer, index, filter and properties are checked when it is opened; a compressed block whenever it is read; another
 * one when it is first read through this mapping, after which a bit remembers it. A check at every read would pull all of a block through the cache for one
 * pair of it, about the cost of the read itself; compaction and {@link #verify} check every block anew, so that damage
 * that comes later is not handed on.
 *
 * <p>Counted by reference: opened with one, {@link #release} of the last one unmaps it, and removes the file if the
 * table was marked obsolete. Whoever reads holds a reference or is inside a section that its holder waits for.
 */
public final class Table {

  private static final Logger LOG = LoggerFactory.getLogger(Table.class);

  private final TableFile file;
  private final Arena arena;
  private final MemorySegment bytes;
  private final TableFooter tail;
  private final TableIndex index;
  private final long filterOffset;
  private final long filterLength;
  private final byte[] minKey;
  private final byte[] maxKey;

  /** A bit for each block that passed its check. Written without synchronisation: a lost bit costs another check. */
  private final long[] checked;

  private final AtomicInteger references = new AtomicInteger(1);
  private volatile boolean obsolete;

  /** Whether what is read of it is likely to be missing in memory. */
  private volatile boolean random;

  /** A copy of the filter that nothing pushes out of memory; null where it is read in the mapping. Published by {@link #random}. */
  private MemorySegment residentFilter;

  private Table(TableFile file, Arena arena) throws IOException {
    this.file = file;
    this.arena = arena;
    this.bytes = file.map(arena);
    this.tail = new TableFooter(file, bytes);
    this.index = tail.index;
    this.filterOffset = tail.filterOffset;
    this.filterLength = tail.filterLength;
    this.minKey = tail.minKey;
    this.maxKey = tail.maxKey;
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
          file.describe() + ": the lengths in a section contradict each other", e);
    } catch (InternalError e) {
      throw new CorruptionException(file.describe() + ": the file cannot be read", e);
    } finally {
      if (!opened) {
        arena.close();
      }
    }
  }

  /**
   * Opens a table that was just written, before anything names it. Where it cannot be opened its file is removed: it
   * would be written again under another number, and again, and fill the device.
   *
   * @throws CorruptionException if it is damaged; the file stays, to be looked at
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
   * Looks a key up.
   *
   * @param hash of the key, from {@link Bytes#hash}
   * @return one of {@link Lookup}'s
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

  /** Looks a key up in the block that begins there. */
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
   * From now on look-ups expect that the pages they need are not in memory: a block is then read as a whole, in one piece,
   * and nothing around it. Otherwise a page is read with many around it, which fills the memory soon where all of it has
   * room, and reads the same again and again where it has not. What look-ups need beside blocks, the filter and the
   * blocks' first keys, is copied out of the mapping, whose pages the kernel takes for others: four bytes and a
   * key for each block, and the filter. For a caller that holds a reference.
   */
  public synchronized void expectMisses() {
    if (!random) {
      PageAdvice.random(bytes);
      try {
        index.copyFirstKeys(arena);
        residentFilter = copyOfFilter();
      } catch (OutOfMemoryError | InternalError e) {
        // Without native memory it is read in the mapping; what cannot be read the next look-up
        // will tell.
        LOG.warn("{}: index and filter stay in the mapping: {}", file.describe(), e.getMessage());
      }
      random = true;
    }
  }

  private MemorySegment copyOfFilter() {
    MemorySegment copy = arena.allocate(filterLength, TableFormat.LINE_BYTES);
    return copy.copyFrom(bytes.asSlice(filterOffset, filterLength));
  }

  /** Has blocks read that will be needed at once; there may be fewer. */
  void readAhead(int block, int blocks) {
    long start = index.blockOffset(block);
    int end = Math.min(index.blockCount(), block + blocks);
    PageAdvice.willNeed(bytes, start, index.blockOffset(end) - start);
  }

  /** Whether a cursor has to ask for what comes next itself. */
  boolean missesExpected() {
    return random;
  }

  int blockCount() {
    return index.blockCount();
  }

  /** The last block whose first key is not greater, or −1 if the key is before all of them. */
  int findBlock(byte[] key, int keyOffset, int keyLength) {
    return index.findBlock(key, keyOffset, keyLength);
  }

  /** Where the block begins in the file; for the number of blocks, where the last one ends. */
  long blockOffset(int block) {
    return index.blockOffset(block);
  }

  boolean isCompressed(int block) {
    return tail.compressed && Block.isCompressed(bytes, index.blockOffset(block));
  }

  /** The whole file. */
  MemorySegment mapped() {
    return bytes;
  }

  /** Where the block begins, after it has passed its check once. */
  private long checkedBlock(int block) {
    long bit = 1L << (block & 63);
    if ((checked[block >>> 6] & bit) == 0) {
      checkBlock(block);
      checked[block >>> 6] |= bit;
    }
    return index.blockOffset(block);
  }

  /** Checks an uncompressed block's checksum and that its offsets stay within it; gives where it begins. */
  long checkBlock(int block) {
    long start = index.blockOffset(block);
    long length = index.blockOffset(block + 1) - start;
    if (start < 0 || length < Block.BYTES_MIN) {
      throw corrupt(start, "the index gives block " + block + " an impossible place");
    }
    int crc = Bytes.crc32c(bytes, start + Integer.BYTES, length - Integer.BYTES);
    if (crc != Block.checksum(bytes, start)) {
      throw corrupt(start, "the checksum of block " + block + " does not match");
    }
    if (!Block.isSound(bytes, start, length)) {
      throw corrupt(start, "block " + block + " contradicts itself");
    }
    return start;
  }

  /** A cursor that checks each block on entering it; the caller keeps a reference meanwhile. */
  public Cursor cursor() {
    return new TableCursor(this);
  }

  /**
   * Checks every block anew, that keys ascend throughout, that the index, the filter and the counts agree with them.
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

  /** Whether lookups ask a filter first. */
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
    return tail.entries;
  }

  public long tombstones() {
    return tail.tombstones;
  }

  /** The WAL whose memtable this was, or 0. */
  public long sourceLog() {
    return tail.sourceLog;
  }

  /** Not to be changed. */
  public byte[] minKey() {
    return minKey;
  }

  /** Not to be changed. */
  public byte[] maxKey() {
    return maxKey;
  }

  /** Whether the key is between the first and the last. */
  public boolean covers(byte[] key, int keyOffset, int keyLength) {
    int to = keyOffset + keyLength;
    return Arrays.compareUnsigned(key, keyOffset, to, minKey, 0, minKey.length) >= 0
        && Arrays.compareUnsigned(key, keyOffset, to, maxKey, 0, maxKey.length) <= 0;
  }

  /** Takes another reference; only by someone who holds one. */
  public void retain() {
    int before = references.getAndIncrement();
    assert before > 0 : file.describe() + " was retained after its end";
  }

  /** Gives one back. The last one unmaps, and removes the file if the table is obsolete. */
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

  /** The manifest no longer names this table: its file goes with the last reference. */
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
