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

/**
 * An open table: its file, mapped. Thread-safe.
 *
 * <p>Footer, index, filter and properties are checked when it is opened; a block when it is first read through this
 * mapping, after which a bit remembers it. A check at every read would pull all of a block through the cache for one
 * pair of it, about the cost of the read itself; compaction and {@link #verify} check every block anew, so that damage
 * that comes later is not handed on.
 *
 * <p>Counted by reference: opened with one, {@link #release} of the last one unmaps it, and removes the file if the
 * table was marked obsolete. Whoever reads holds a reference or is inside a section that its holder waits for.
 */
public final class Table {

  private final StoreDirectory directory;
  private final String name;
  private final long number;
  private final Arena arena;
  private final MemorySegment bytes;
  private final long filterOffset;
  private final long filterLength;
  private final long sourceLog;
  private final long entries;
  private final long tombstones;
  private final byte[] minKey;
  private final byte[] maxKey;

  private final TableIndex index;

  /** A bit for each block that passed its check. Written without synchronisation: a lost bit costs another check. */
  private final long[] checked;

  private final AtomicInteger references = new AtomicInteger(1);
  private volatile boolean obsolete;

  /** Whether what is read of it is likely to be missing in memory. */
  private volatile boolean random;

  private Table(StoreDirectory directory, long number, Arena arena) throws IOException {
    this.directory = directory;
    this.name = TableFormat.fileName(number);
    this.number = number;
    this.arena = arena;
    this.bytes = directory.map(name, arena);
    long size = bytes.byteSize();
    long footer = size - TableFormat.FOOTER_BYTES;
    if (footer < 0 || bytes.get(Bytes.LONG, size - Long.BYTES) != TableFormat.MAGIC) {
      throw corrupt(Math.max(0, footer), "this is not a table or its end is missing");
    }
    int crc = Bytes.crc32c(bytes, footer, TableFormat.FOOTER_CRC_OFFSET);
    if (crc != bytes.get(Bytes.INT, footer + TableFormat.FOOTER_CRC_OFFSET)) {
      throw corrupt(footer, "the footer's checksum does not match");
    }
    int version = bytes.get(Bytes.INT, footer + 60);
    if (version != TableFormat.VERSION) {
      throw new CorruptionException(
          directory.describe(name)
              + ": table format version "
              + version
              + ", this engine reads "
              + TableFormat.VERSION);
    }
    long indexOffset = bytes.get(Bytes.LONG, footer);
    long indexLength = bytes.get(Bytes.LONG, footer + 8);
    filterOffset = bytes.get(Bytes.LONG, footer + 16);
    filterLength = bytes.get(Bytes.LONG, footer + 24);
    long propertiesOffset = bytes.get(Bytes.LONG, footer + 32);
    long propertiesLength = bytes.get(Bytes.LONG, footer + 40);
    checkSection("index", indexOffset, indexLength, footer, footer + 48);
    checkSection("filter", filterOffset, filterLength, footer, footer + 52);
    checkSection("properties", propertiesOffset, propertiesLength, footer, footer + 56);
    if (propertiesOffset + propertiesLength != footer
        || filterOffset + filterLength != propertiesOffset
        || indexOffset + indexLength != filterOffset) {
      throw corrupt(footer, "the sections do not meet");
    }

    long fileNumber = bytes.get(Bytes.LONG, propertiesOffset);
    if (fileNumber != number) {
      throw corrupt(propertiesOffset, "this is table " + fileNumber + " under another's name");
    }
    sourceLog = bytes.get(Bytes.LONG, propertiesOffset + 8);
    entries = bytes.get(Bytes.LONG, propertiesOffset + 16);
    tombstones = bytes.get(Bytes.LONG, propertiesOffset + 24);
    int minLength = bytes.get(Bytes.INT, propertiesOffset + 32);
    int maxLength = bytes.get(Bytes.INT, propertiesOffset + 36);
    long minOffset = propertiesOffset + TableFormat.PROPERTIES_FIXED_BYTES;
    minKey = ValueSink.copy(bytes, minOffset, minLength);
    maxKey = ValueSink.copy(bytes, minOffset + minLength, maxLength);

    index = new TableIndex(bytes, indexOffset, minKey);
    if (index.blockCount() == 0 || index.blockOffset(index.blockCount()) != indexOffset) {
      throw corrupt(indexOffset, "the index does not describe the blocks before it");
    }
    checked = new long[(index.blockCount() + 63) >>> 6];
  }

  /**
   * Opens a table with one reference.
   *
   * @throws CorruptionException if it is damaged
   */
  public static Table open(StoreDirectory directory, long number) throws IOException {
    Arena arena = Arena.ofShared();
    boolean opened = false;
    try {
      Table table = new Table(directory, number, arena);
      opened = true;
      return table;
    } catch (IndexOutOfBoundsException | NegativeArraySizeException e) {
      throw new CorruptionException(
          directory.describe(TableFormat.fileName(number))
              + ": the lengths in a section contradict each other",
          e);
    } catch (InternalError e) {
      throw new CorruptionException(
          directory.describe(TableFormat.fileName(number)) + ": the file cannot be read", e);
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

  private void checkSection(String what, long offset, long length, long limit, long crcOffset) {
    if (offset < 0 || length < 0 || offset > limit || length > limit - offset) {
      throw corrupt(limit, "the " + what + " is outside the file");
    }
    if (Bytes.crc32c(bytes, offset, length) != bytes.get(Bytes.INT, crcOffset)) {
      throw corrupt(offset, "the " + what + "'s checksum does not match");
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
      if (filterLength > 0 && !BloomFilter.mayContain(bytes, filterOffset, filterLength, hash)) {
        return Lookup.FILTERED;
      }
      int block = findBlock(key, keyOffset, keyLength);
      if (block < 0) {
        return Lookup.ABSENT;
      }
      if (random) {
        readAhead(block, 1);
      }
      long start = checkedBlock(block);
      int pair = searchBlock(start, key, keyOffset, keyLength);
      if (pair < 0) {
        return Lookup.ABSENT;
      }
      int value = valueSlot(start, pair);
      if (value < 0) {
        return Lookup.DELETED;
      }
      int end = valueSlot(start, pair + 1) & TableFormat.OFFSET_MASK;
      sink.accept(bytes, start + value, end - value);
      return Lookup.FOUND;
    } catch (InternalError e) {
      throw unreadable(e);
    }
  }

  /**
   * From now on look-ups expect that the pages they need are not in memory: a block is then read as a whole, in one piece,
   * and nothing around it. Otherwise a page is read with many around it, which fills the memory soon where all of it has
   * room, and reads the same again and again where it has not. For a caller that holds a reference.
   */
  public void expectMisses() {
    if (!random) {
      PageAdvice.random(bytes);
      random = true;
    }
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

  /** The pair with that key, or −1 − (the first pair with a greater one). */
  private int searchBlock(long start, byte[] key, int keyOffset, int keyLength) {
    int low = 0;
    int high = pairs(start) - 1;
    while (low <= high) {
      int middle = (low + high) >>> 1;
      int from = keySlot(start, middle);
      int to = keySlot(start, middle + 1);
      int order = Bytes.compare(key, keyOffset, keyLength, bytes, start + from, to - from);
      if (order == 0) {
        return middle;
      }
      if (order > 0) {
        low = middle + 1;
      } else {
        high = middle - 1;
      }
    }
    return -1 - low;
  }

  int pairs(long start) {
    return bytes.get(Bytes.INT, start + 4);
  }

  int keySlot(long start, int pair) {
    return bytes.get(Bytes.INT, start + TableFormat.BLOCK_HEADER_BYTES + 8L * pair);
  }

  int valueSlot(long start, int pair) {
    return bytes.get(Bytes.INT, start + TableFormat.BLOCK_HEADER_BYTES + 4 + 8L * pair);
  }

  int blockCount() {
    return index.blockCount();
  }

  /** The last block whose first key is not greater, or −1 if the key is before all of them. */
  int findBlock(byte[] key, int keyOffset, int keyLength) {
    return index.findBlock(key, keyOffset, keyLength);
  }

  /** Where the block begins, after it has passed its check once. */
  long checkedBlock(int block) {
    long bit = 1L << (block & 63);
    if ((checked[block >>> 6] & bit) == 0) {
      checkBlock(block);
      checked[block >>> 6] |= bit;
    }
    return index.blockOffset(block);
  }

  /** Checks a block's checksum and that its offsets stay within it. */
  long checkBlock(int block) {
    long start = index.blockOffset(block);
    long length = index.blockOffset(block + 1) - start;
    if (start < 0 || length < TableFormat.BLOCK_HEADER_BYTES + 2L * TableFormat.SLOT_BYTES) {
      throw corrupt(start, "the index gives block " + block + " an impossible place");
    }
    int crc = Bytes.crc32c(bytes, start + Integer.BYTES, length - Integer.BYTES);
    if ((crc ^ TableFormat.placeMask(start)) != bytes.get(Bytes.INT, start)) {
      throw corrupt(start, "the checksum of block " + block + " does not match");
    }
    int count = pairs(start);
    long key = TableFormat.BLOCK_HEADER_BYTES + (count + 1L) * TableFormat.SLOT_BYTES;
    boolean sound = count > 0 && key <= length && keySlot(start, 0) == key;
    int value = sound ? keySlot(start, count) : 0;
    for (int i = 0; sound && i <= count; i++) {
      int nextKey = keySlot(start, i);
      int nextValue = valueSlot(start, i) & TableFormat.OFFSET_MASK;
      sound = nextKey >= key && nextValue >= value && nextValue <= length;
      key = nextKey;
      value = nextValue;
    }
    if (!sound || key > (valueSlot(start, 0) & TableFormat.OFFSET_MASK)) {
      throw corrupt(start, "block " + block + " contradicts itself");
    }
    return start;
  }

  /** A cursor that checks each block on entering it; the caller keeps a reference meanwhile. */
  public Cursor cursor() {
    return new TableCursor(this, bytes);
  }

  /** Where a cursor's {@code seek} begins: block, and pair as {@link #searchBlock} gives it. */
  int seekBlock(byte[] key) {
    return key == null ? 0 : Math.max(0, findBlock(key, 0, key.length));
  }

  int seekPair(long start, byte[] key) {
    if (key == null) {
      return 0;
    }
    int pair = searchBlock(start, key, 0, key.length);
    return pair >= 0 ? pair : -1 - pair;
  }

  /**
   * Checks every block anew, that keys ascend throughout, that the index, the filter and the counts agree with them.
   *
   * @throws CorruptionException at the first fault
   */
  public void verify() {
    try {
      new TableVerifier(this, bytes).run();
    } catch (InternalError e) {
      throw unreadable(e);
    }
  }

  boolean mayContain(byte[] key) {
    return filterLength == 0
        || BloomFilter.mayContain(
            bytes, filterOffset, filterLength, Bytes.hash(key, 0, key.length));
  }

  public long number() {
    return number;
  }

  public long bytes() {
    return bytes.byteSize();
  }

  public long entries() {
    return entries;
  }

  public long tombstones() {
    return tombstones;
  }

  /** The WAL whose memtable this was, or 0. */
  public long sourceLog() {
    return sourceLog;
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
    assert before > 0 : name + " was retained after its end";
  }

  /** Gives one back. The last one unmaps, and removes the file if the table is obsolete. */
  public void release() throws IOException {
    int left = references.decrementAndGet();
    assert left >= 0 : name + " was released too often";
    if (left == 0) {
      arena.close();
      if (obsolete) {
        directory.delete(name);
      }
    }
  }

  /** The manifest no longer names this table: its file goes with the last reference. */
  public void markObsolete() {
    obsolete = true;
  }

  CorruptionException corrupt(long offset, String what) {
    return new CorruptionException(
        directory.describe(name)
            + " at offset "
            + offset
            + ": "
            + what
            + ". The file was damaged after it was written; restore the store from a copy");
  }

  CorruptionException unreadable(InternalError e) {
    return new CorruptionException(
        directory.describe(name) + ": the file cannot be read (cut short, or a device error)", e);
  }
}
