package lsmlab.storage.memtable;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import lsmlab.storage.ValueSink;
import lsmlab.storage.cursor.Cursor;
import lsmlab.storage.file.Bytes;
import lsmlab.storage.table.Lookup;

/**
 * The latest writes, sorted by key: a skip list in native memory. One thread at a time writes; any
 * number of threads read without locks.
 *
 * <p>Every write adds a node, even if it overwrites a key. Nodes are ordered by key, then by
 * sequence number, newest first. So a cursor can return the pairs of one moment while writes
 * continue. Only the links of a node change. They are stored with release semantics, lowest level
 * first, and loaded with acquire semantics, so a reader that sees a link also sees the whole node.
 *
 * <p>A single writer needs no compare-and-swap. The commit pipeline serializes writers anyway,
 * because of the WAL. Source: Pugh, "Skip Lists: A Probabilistic Alternative to Balanced Trees"
 * (1990); links are 32-bit references (chunk, and offset in units of 8 bytes).
 *
 * <p>Values have separate chunks, so that the nodes are close together: 8 MB of nodes for 64 MB of
 * pairs, one cache line each. A search touches about twenty nodes.
 *
 * <pre>
 *  node: ┌────────┬────────────┬───────────┬──────────┬────────┬──────────┬──────────────┬─────┐
 *        │ prefix │ sequence   │ key bytes │ val bytes│ levels │ value at │ levels×links │ key │
 *        │  u64   │ u63, bit 63│    u32    │   u32    │  u32   │   u32    │     u32      │     │
 *        └────────┴────────────┴───────────┴──────────┴────────┴──────────┴──────────────┴─────┘
 *   prefix: first eight bytes of the key as a number; sequence's bit 63 marks a tombstone
 *   value at: reference to the value; a large value has its own chunk
 * </pre>
 */
public final class Memtable {

  /**
   * A quarter of the nodes of each level are also in the next level, so 12 levels suffice for 16
   * million nodes.
   */
  private static final int LEVELS_MAX = 12;

  static final int PREFIX = 0;
  static final int SEQUENCE = 8;
  static final int KEY_LENGTH = 16;
  static final int VALUE_LENGTH = 20;
  private static final int LEVELS = 24;
  static final int VALUE_AT = 28;
  private static final int LINKS = 32;
  static final long TOMBSTONE = Long.MIN_VALUE;

  private static final int UNIT_SHIFT = 3;
  private static final int CHUNK_SHIFT = 17;
  private static final int PLACE_MASK = (1 << CHUNK_SHIFT) - 1;
  private static final int CHUNKS_MAX = 1 << (Integer.SIZE - CHUNK_SHIFT);

  /** Reference to the head. No node links to it, so 0 also means no node and no value. */
  private static final int HEAD = 0;

  static final int NONE = 0;

  /** Size above which a value gets its own chunk. */
  private static final int SHARED_BYTES_MAX = ChunkPool.CHUNK_BYTES / 16;

  static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;
  static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;
  private static final VarHandle LINK = INT.varHandle();

  private final ChunkPool pool;
  private final long logNumber;
  private final SplittableRandom random = new SplittableRandom();

  /** The predecessor of the node that is being added, on each level. */
  private final int[] before = new int[LEVELS_MAX];

  /**
   * All chunks. The array is replaced when it must grow. A chunk is stored here before the first
   * link to it.
   */
  private MemorySegment[] chunks = new MemorySegment[16];

  private int chunkCount;

  /** Holds large values; null if there are none. */
  private Arena largeValues;

  private final Filling nodes = new Filling();
  private final Filling values = new Filling();
  private volatile long bytes;
  private volatile long entries;
  private final AtomicInteger references = new AtomicInteger(1);

  /**
   * @param logNumber number of the WAL that holds the same writes
   */
  public Memtable(ChunkPool pool, long logNumber) {
    this.pool = pool;
    this.logNumber = logNumber;
    int head = allocate(nodes, LINKS + LEVELS_MAX * Integer.BYTES);
    assert head == HEAD;
    MemorySegment chunk = chunks[0];
    for (int level = 0; level < LEVELS_MAX; level++) {
      chunk.set(INT, LINKS + 4L * level, NONE);
    }
    bytes = 0;
  }

  /**
   * Adds a write. Called by one thread at a time.
   *
   * @param sequence greater than that of every write before
   * @param value null for a deletion
   */
  public void add(
      long sequence,
      byte[] key,
      int keyOffset,
      int keyLength,
      byte[] value,
      int valueOffset,
      int valueLength) {
    int levels = randomLevels();
    int fixed = LINKS + levels * Integer.BYTES;
    // A key has at most 64 KiB, so with its links it fits a chunk.
    int node = allocate(nodes, fixed + keyLength);
    MemorySegment chunk = chunk(node);
    long at = place(node);
    long prefix = Bytes.prefix(key, keyOffset, keyLength);
    chunk.set(LONG, at + PREFIX, prefix);
    chunk.set(LONG, at + SEQUENCE, value == null ? sequence | TOMBSTONE : sequence);
    chunk.set(INT, at + KEY_LENGTH, keyLength);
    chunk.set(INT, at + VALUE_LENGTH, value == null ? 0 : valueLength);
    chunk.set(INT, at + LEVELS, levels);
    MemorySegment.copy(key, keyOffset, chunk, ValueLayout.JAVA_BYTE, at + fixed, keyLength);
    int valueAt = NONE;
    if (value != null && valueLength > 0) {
      valueAt =
          valueLength <= SHARED_BYTES_MAX
              ? allocate(values, valueLength)
              : allocateLarge(valueLength);
      MemorySegment.copy(
          value, valueOffset, chunk(valueAt), ValueLayout.JAVA_BYTE, place(valueAt), valueLength);
    }
    chunk.set(INT, at + VALUE_AT, valueAt);

    find(prefix, key, keyOffset, keyLength, before);
    for (int level = 0; level < levels; level++) {
      MemorySegment previous = chunk(before[level]);
      long link = place(before[level]) + LINKS + 4L * level;
      chunk.set(INT, at + LINKS + 4L * level, previous.get(INT, link));
      LINK.setRelease(previous, link, node);
    }
    entries = entries + 1;
  }

  /**
   * Looks up the newest write of a key.
   *
   * @return a constant of {@link Lookup}
   */
  public int get(byte[] key, int keyOffset, int keyLength, ValueSink sink) {
    long prefix = Bytes.prefix(key, keyOffset, keyLength);
    int node = find(prefix, key, keyOffset, keyLength, null);
    if (node == NONE || compare(prefix, key, keyOffset, keyLength, node) != 0) {
      return Lookup.ABSENT;
    }
    MemorySegment chunk = chunk(node);
    long at = place(node);
    if (chunk.get(LONG, at + SEQUENCE) < 0) {
      return Lookup.DELETED;
    }
    int valueAt = chunk.get(INT, at + VALUE_AT);
    sink.accept(chunk(valueAt), place(valueAt), chunk.get(INT, at + VALUE_LENGTH));
    return Lookup.FOUND;
  }

  /**
   * Returns the first node whose key is not less than the given one, or {@link #NONE}.
   *
   * @param path receives, for each level, the last node whose key is less; may be null
   */
  private int find(long prefix, byte[] key, int keyOffset, int keyLength, int[] path) {
    int node = HEAD;
    int notLess = NONE;
    for (int level = LEVELS_MAX - 1; level >= 0; level--) {
      while (true) {
        int next = next(node, level);
        if (next == NONE || next == notLess) {
          break;
        }
        if (compare(prefix, key, keyOffset, keyLength, next) <= 0) {
          notLess = next;
          break;
        }
        node = next;
      }
      if (path != null) {
        path[level] = node;
      }
    }
    return notLess;
  }

  int next(int node, int level) {
    return (int) LINK.getAcquire(chunk(node), place(node) + LINKS + 4L * level);
  }

  private int compare(long prefix, byte[] key, int keyOffset, int keyLength, int node) {
    MemorySegment chunk = chunk(node);
    long at = place(node);
    long nodePrefix = chunk.get(LONG, at + PREFIX);
    if (prefix != nodePrefix) {
      return Long.compareUnsigned(prefix, nodePrefix);
    }
    int nodeLength = chunk.get(INT, at + KEY_LENGTH);
    int skip = Math.min(Long.BYTES, Math.min(keyLength, nodeLength));
    return Bytes.compare(
        key,
        keyOffset + skip,
        keyLength - skip,
        chunk,
        keyOffset(chunk, at) + skip,
        nodeLength - skip);
  }

  MemorySegment chunk(int reference) {
    return chunks[reference >>> CHUNK_SHIFT];
  }

  static long place(int reference) {
    return (long) (reference & PLACE_MASK) << UNIT_SHIFT;
  }

  static long keyOffset(MemorySegment chunk, long at) {
    return at + LINKS + 4L * chunk.get(INT, at + LEVELS);
  }

  /** The chunk that is being filled, and the position of the next allocation in it. */
  private static final class Filling {
    int chunk = -1;
    int place;
  }

  private int allocate(Filling filling, int size) {
    int units = (size + (1 << UNIT_SHIFT) - 1) >>> UNIT_SHIFT;
    if (filling.chunk < 0 || filling.place + units > PLACE_MASK + 1) {
      filling.chunk = addChunk(pool.take());
      filling.place = 0;
    }
    int reference = (filling.chunk << CHUNK_SHIFT) | filling.place;
    filling.place += units;
    bytes = bytes + ((long) units << UNIT_SHIFT);
    return reference;
  }

  private int allocateLarge(int size) {
    if (largeValues == null) {
      largeValues = Arena.ofShared();
    }
    bytes = bytes + size;
    return addChunk(largeValues.allocate(size, Long.BYTES)) << CHUNK_SHIFT;
  }

  private int addChunk(MemorySegment chunk) {
    if (chunkCount == CHUNKS_MAX) {
      throw new IllegalStateException("a memtable has at most " + CHUNKS_MAX + " chunks");
    }
    if (chunkCount == chunks.length) {
      chunks = Arrays.copyOf(chunks, 2 * chunkCount);
    }
    chunks[chunkCount] = chunk;
    return chunkCount++;
  }

  private int randomLevels() {
    int bits = random.nextInt();
    int levels = 1;
    while (levels < LEVELS_MAX && (bits & 3) == 0) {
      levels++;
      bits >>>= 2;
    }
    return levels;
  }

  /** Returns the native memory in use, in bytes. */
  public long bytes() {
    return bytes;
  }

  /**
   * Whether the memtable has nearly used up its chunk references, so that it must be sealed however
   * few bytes it holds.
   */
  public boolean isFull() {
    return chunkCount > CHUNKS_MAX - 1024;
  }

  /** Returns the number of writes, including overwritten ones. */
  public long entries() {
    return entries;
  }

  /** Returns the number of the WAL that holds the same writes. */
  public long logNumber() {
    return logNumber;
  }

  /** Takes another reference. The caller already holds one; a new memtable has one. */
  public void retain() {
    int before = references.getAndIncrement();
    assert before > 0 : "memtable of log " + logNumber + " was retained after its end";
  }

  /** Releases a reference. The last one frees the memory. */
  public void release() {
    int left = references.decrementAndGet();
    assert left >= 0 : "memtable of log " + logNumber + " was released too often";
    if (left == 0) {
      free();
    }
  }

  private void free() {
    assert references.get() == 0 && chunks != null : "memtable of log " + logNumber;
    for (int i = 0; i < chunkCount; i++) {
      if (chunks[i].byteSize() == ChunkPool.CHUNK_BYTES && !isLarge(i)) {
        pool.give(chunks[i]);
      }
    }
    chunks = null;
    if (largeValues != null) {
      largeValues.close();
    }
  }

  private boolean isLarge(int chunk) {
    return largeValues != null && chunks[chunk].scope().equals(largeValues.scope());
  }

  /**
   * Returns a cursor over the newest write of each key with a sequence number of at most {@code
   * sequenceMax}, including tombstones.
   */
  public Cursor cursor(long sequenceMax) {
    return new MemtableCursor(this, sequenceMax);
  }

  /** Returns the first node, or {@link #NONE}. */
  int first() {
    return next(HEAD, 0);
  }

  /** Returns the first node whose key is not less than this one, or {@link #NONE}. */
  int firstFrom(byte[] key) {
    return find(Bytes.prefix(key, 0, key.length), key, 0, key.length, null);
  }
}
