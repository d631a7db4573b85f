package lsmlab.storage.table;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import lsmlab.storage.file.Bytes;
import lsmlab.storage.file.StoreDirectory;
import lsmlab.storage.file.WritableFile;

/**
 * Writes one table: pairs in strictly ascending key order, then {@link #finish}. Closed before that, it removes what it
 * wrote. Holds one block, its index and eight bytes a key in memory. Not thread-safe.
 */
public final class TableWriter implements AutoCloseable {

  /**
   * A file is written in pieces of so many bytes, each at a multiple of it, the last one excepted. Linux then keeps it in
   * pages of two megabytes where the file system can (ext4 from 6.16 on, XFS), and maps them as such: a random look-up
   * misses the TLB far less often than with the small pages that small writes leave behind.
   */
  private static final int PIECE_BYTES = 2 << 20;

  /** What the buffer begins with; it grows up to a piece, so that a small table needs little. */
  private static final int OUT_BYTES_MIN = 1 << 16;

  private final StoreDirectory directory;
  private final String name;
  private final long number;
  private final long sourceLog;
  private final int blockBytes;
  private final int bloomBitsPerKey;
  private final WritableFile file;
  private ByteBuffer out = ByteBuffer.allocateDirect(OUT_BYTES_MIN).order(ByteOrder.LITTLE_ENDIAN);

  /** The block being filled: ends of its keys and values, and their bytes. */
  private int count;

  private int[] keyEnds = new int[64];
  private int[] valueEnds = new int[64];
  private boolean[] tombstone = new boolean[64];
  private byte[] keys = new byte[4096];
  private byte[] values = new byte[8192];

  private final IndexBuilder index = new IndexBuilder();
  private long[] hashes = new long[1024];
  private long entries;
  private long tombstones;
  private long position;
  private byte[] minKey;
  private byte[] lastKey = new byte[64];
  private int lastKeyLength = -1;
  private boolean finished;

  /**
   * @param sourceLog the WAL whose memtable this is, or 0
   */
  public TableWriter(
      StoreDirectory directory, long number, long sourceLog, int blockBytes, int bloomBitsPerKey)
      throws IOException {
    this.directory = directory;
    this.name = TableFormat.fileName(number);
    this.number = number;
    this.sourceLog = sourceLog;
    this.blockBytes = blockBytes;
    this.bloomBitsPerKey = bloomBitsPerKey;
    this.file = directory.create(name);
  }

  /** Adds a pair. */
  public void add(
      MemorySegment key,
      long keyOffset,
      int keyLength,
      MemorySegment value,
      long valueOffset,
      int valueLength)
      throws IOException {
    append(key, keyOffset, keyLength, value, valueOffset, valueLength, false);
  }

  /** Adds the mark of a deletion. */
  public void addTombstone(MemorySegment key, long keyOffset, int keyLength) throws IOException {
    append(key, keyOffset, keyLength, MemorySegment.NULL, 0, 0, true);
    tombstones++;
  }

  private void append(
      MemorySegment key,
      long keyOffset,
      int keyLength,
      MemorySegment value,
      long valueOffset,
      int valueLength,
      boolean isTombstone)
      throws IOException {
    if (lastKeyLength >= 0
        && Bytes.compare(lastKey, 0, lastKeyLength, key, keyOffset, keyLength) >= 0) {
      throw new IllegalStateException(name + ": keys must ascend; this is a fault of the engine");
    }
    if (count > 0 && bodyBytes(1, keyLength, valueLength) > blockBytes) {
      finishBlock();
    }
    if (count == keyEnds.length) {
      keyEnds = Arrays.copyOf(keyEnds, 2 * count);
      valueEnds = Arrays.copyOf(valueEnds, 2 * count);
      tombstone = Arrays.copyOf(tombstone, 2 * count);
    }
    int keyStart = count == 0 ? 0 : keyEnds[count - 1];
    int valueStart = count == 0 ? 0 : valueEnds[count - 1];
    keys = room(keys, keyStart, keyLength);
    values = room(values, valueStart, valueLength);
    MemorySegment.copy(key, ValueLayout.JAVA_BYTE, keyOffset, keys, keyStart, keyLength);
    MemorySegment.copy(value, ValueLayout.JAVA_BYTE, valueOffset, values, valueStart, valueLength);
    keyEnds[count] = keyStart + keyLength;
    valueEnds[count] = valueStart + valueLength;
    tombstone[count] = isTombstone;

    lastKey = room(lastKey, 0, keyLength);
    System.arraycopy(keys, keyStart, lastKey, 0, keyLength);
    lastKeyLength = keyLength;
    if (minKey == null) {
      minKey = Arrays.copyOf(lastKey, keyLength);
    }
    if (entries == hashes.length) {
      hashes = Arrays.copyOf(hashes, hashes.length * 2);
    }
    hashes[(int) entries] = Bytes.hash(keys, keyStart, keyLength);
    count++;
    entries++;
  }

  /** Bytes written so far and those of the block being filled: about what the file will have. */
  public long bytes() {
    return position + (count == 0 ? 0 : bodyBytes(0, 0, 0));
  }

  /** The table's number. */
  public long number() {
    return number;
  }

  public long entries() {
    return entries;
  }

  /** Ends the file and syncs it. There must have been a pair. The directory is the caller's to sync. */
  public void finish() throws IOException {
    if (entries == 0) {
      throw new IllegalStateException(name + ": a table has at least one pair");
    }
    finishBlock();
    byte[] maxKey = Arrays.copyOf(lastKey, lastKeyLength);

    ByteBuffer indexBytes = index.build(position, minKey, maxKey);
    long indexOffset = position;
    int indexCrc = Bytes.crc32c(indexBytes);
    final long indexLength = indexBytes.remaining();
    write(indexBytes);

    long filterOffset = position;
    long filterLength = BloomFilter.bytes(entries, bloomBitsPerKey);
    ByteBuffer filterBytes = ByteBuffer.allocate(Math.toIntExact(filterLength));
    MemorySegment filter = MemorySegment.ofBuffer(filterBytes);
    for (int i = 0; i < entries && filterLength > 0; i++) {
      BloomFilter.add(filter, 0, filterLength, hashes[i]);
    }
    int filterCrc = Bytes.crc32c(filterBytes);
    write(filterBytes);

    long propertiesOffset = position;
    ByteBuffer properties =
        little(TableFormat.PROPERTIES_FIXED_BYTES + minKey.length + maxKey.length)
            .putLong(number)
            .putLong(sourceLog)
            .putLong(entries)
            .putLong(tombstones)
            .putInt(minKey.length)
            .putInt(maxKey.length)
            .put(minKey)
            .put(maxKey)
            .flip();
    int propertiesCrc = Bytes.crc32c(properties);
    final long propertiesLength = properties.remaining();
    write(properties);

    ByteBuffer footer =
        little(TableFormat.FOOTER_BYTES)
            .putLong(indexOffset)
            .putLong(indexLength)
            .putLong(filterOffset)
            .putLong(filterLength)
            .putLong(propertiesOffset)
            .putLong(propertiesLength)
            .putInt(indexCrc)
            .putInt(filterCrc)
            .putInt(propertiesCrc)
            .putInt(TableFormat.VERSION)
            .putInt(0);
    footer.putInt(Bytes.crc32c(footer.duplicate().flip())).putLong(TableFormat.MAGIC).flip();
    write(footer);
    flushOut();
    file.sync();
    file.close();
    finished = true;
  }

  /** Removes the file unless it was finished. */
  @Override
  public void close() throws IOException {
    if (!finished) {
      finished = true;
      try {
        file.close();
      } finally {
        directory.delete(name);
      }
    }
  }

  private long bodyBytes(int morePairs, int moreKeyBytes, int moreValueBytes) {
    return TableFormat.BLOCK_HEADER_BYTES
        + (count + morePairs + 1L) * TableFormat.SLOT_BYTES
        + keyEnds[count - 1]
        + moreKeyBytes
        + valueEnds[count - 1]
        + moreValueBytes;
  }

  private void finishBlock() throws IOException {
    if (count == 0) {
      return;
    }
    int keysStart = TableFormat.BLOCK_HEADER_BYTES + (count + 1) * TableFormat.SLOT_BYTES;
    int keysLength = keyEnds[count - 1];
    int valuesStart = keysStart + keysLength;
    int valuesLength = valueEnds[count - 1];
    int length =
        Math.toIntExact(align((long) valuesStart + valuesLength, TableFormat.BLOCK_ALIGNMENT));
    if (position + length > TableFormat.DATA_BYTES_MAX) {
      throw new IOException(name + ": a table holds at most 32 GiB");
    }
    ByteBuffer block = reserve(length);
    int start = block.position();
    block.putInt(0).putInt(count);
    for (int i = 0; i <= count; i++) {
      int flag = i < count && tombstone[i] ? TableFormat.TOMBSTONE_BIT : 0;
      block.putInt(keysStart + (i == 0 ? 0 : keyEnds[i - 1]));
      block.putInt((valuesStart + (i == 0 ? 0 : valueEnds[i - 1])) | flag);
    }
    block.put(keys, 0, keysLength).put(values, 0, valuesLength);
    while (block.position() < start + length) {
      block.put((byte) 0);
    }
    int crc = Bytes.crc32c(block.duplicate().position(start + Integer.BYTES).limit(start + length));
    block.putInt(start, crc ^ TableFormat.placeMask(position));
    index.add(position, keys, keyEnds[0]);
    position += length;
    count = 0;
  }

  /** The buffer that has room for {@code bytes} more, after whole pieces in it have been written if need be. */
  private ByteBuffer reserve(int bytes) throws IOException {
    if (out.position() >= PIECE_BYTES) {
      writePieces();
    }
    if (out.remaining() < bytes) {
      long usual = Math.min(2L * out.capacity(), PIECE_BYTES + OUT_BYTES_MIN);
      long room = Math.max(usual, (long) out.position() + bytes);
      ByteBuffer larger =
          ByteBuffer.allocateDirect(Math.toIntExact(room)).order(ByteOrder.LITTLE_ENDIAN);
      out = larger.put(out.flip());
    }
    return out;
  }

  private void writePieces() throws IOException {
    int end = out.position();
    int whole = end - end % PIECE_BYTES;
    if (whole > 0) {
      file.write(out.flip().limit(whole));
      out.limit(end).position(whole);
      out.compact();
    }
  }

  private void write(ByteBuffer bytes) throws IOException {
    position += bytes.remaining();
    flushOut();
    file.write(bytes);
  }

  private void flushOut() throws IOException {
    file.write(out.flip());
    out.clear();
  }

  private static ByteBuffer little(int bytes) {
    return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  private static byte[] room(byte[] array, int used, int more) {
    int needed = Math.addExact(used, more);
    return needed <= array.length
        ? array
        : Arrays.copyOf(array, (int) Math.max(needed, Math.min(2L * array.length, 1 << 30)));
  }

  static long align(long value, long unit) {
    return (value + unit - 1) / unit * unit;
  }
}
