package lsmlab.storage.table;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.Arrays;
import lsmlab.storage.Compression;
import lsmlab.storage.file.Bytes;
import lsmlab.storage.file.StoreDirectory;
import lsmlab.storage.file.WritableFile;

/**
 * Writes one table: add pairs in strictly ascending key order, then call {@link #finish}. If the
 * writer is closed before that, it deletes its file. It holds one block, the index and eight bytes
 * for each key in memory, in a {@link TableWorkspace}. Not thread-safe.
 */
public final class TableWriter implements AutoCloseable {

  /**
   * Size of the pieces in which a compaction writes a table. Each piece but the last is whole and
   * aligned. Linux then keeps and maps the file in pages of 2 MiB, if the file system supports that
   * (ext4 since 6.16, XFS). A random lookup then misses the TLB far less often than with the small
   * pages that small writes produce.
   */
  private static final int LARGE_PIECE_BYTES = 2 << 20;

  /**
   * Size of the pieces in which a flush writes a table. Such a table lives only until it is
   * compacted, so large pages would gain it little. A kernel without preemption copies a piece
   * without interruption, and a writer that wakes on that CPU waits for it. Copying a large piece
   * usually takes half a millisecond, but tens of milliseconds if a virtual machine's host must
   * first provide the memory.
   */
  private static final int SMALL_PIECE_BYTES = 128 << 10;

  private final StoreDirectory directory;
  private final String name;
  private final long number;
  private final long sourceLog;
  private final TableLayout layout;
  private final WritableFile file;
  private final int pieceBytes;
  private final TableWorkspace workspace;
  private final BlockBuilder block;
  private final IndexBuilder index;
  private long entries;
  private long tombstones;
  private long position;
  private byte[] minKey;
  private int lastKeyLength = -1;
  private boolean hasCompressedBlock;
  private boolean finished;

  /**
   * @param sourceLog number of the WAL from which the table is flushed; 0 if it is not flushed
   */
  public TableWriter(StoreDirectory directory, long number, long sourceLog, TableLayout layout)
      throws IOException {
    this(directory, number, sourceLog, layout, new TableWorkspace());
  }

  /**
   * Begins a table in reused memory.
   *
   * @param workspace memory that nobody else uses until this writer is closed
   */
  public TableWriter(
      StoreDirectory directory,
      long number,
      long sourceLog,
      TableLayout layout,
      TableWorkspace workspace)
      throws IOException {
    this.directory = directory;
    this.name = TableFormat.fileName(number);
    this.number = number;
    this.sourceLog = sourceLog;
    this.layout = layout;
    this.workspace = workspace;
    this.pieceBytes = sourceLog == 0 ? LARGE_PIECE_BYTES : SMALL_PIECE_BYTES;
    this.block = workspace.block;
    this.index = workspace.index;
    workspace.reset();
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

  /** Adds a tombstone. */
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
        && Bytes.compare(workspace.lastKey, 0, lastKeyLength, key, keyOffset, keyLength) >= 0) {
      throw new IllegalStateException(name + ": keys must ascend; this is an internal error");
    }
    if (block.count() > 0 && block.bytesWith(1, keyLength, valueLength) > layout.blockBytes()) {
      finishBlock();
    }
    block.add(key, keyOffset, keyLength, value, valueOffset, valueLength, isTombstone);
    byte[] keys = block.keys();
    int keyStart = block.lastKeyStart();
    if (keyLength > workspace.lastKey.length) {
      workspace.lastKey = new byte[Math.max(keyLength, 2 * workspace.lastKey.length)];
    }
    System.arraycopy(keys, keyStart, workspace.lastKey, 0, keyLength);
    lastKeyLength = keyLength;
    if (minKey == null) {
      minKey = Arrays.copyOf(workspace.lastKey, keyLength);
    }
    if (entries == workspace.hashes.length) {
      workspace.hashes = Arrays.copyOf(workspace.hashes, 2 * workspace.hashes.length);
    }
    workspace.hashes[(int) entries] = Bytes.hash(keys, keyStart, keyLength);
    entries++;
  }

  /**
   * Returns the approximate length of the file so far in bytes: finished blocks, and the current
   * block before compression.
   */
  public long bytes() {
    return position + block.bytesWith(0, 0, 0);
  }

  /** Returns the number of the table. */
  public long number() {
    return number;
  }

  public long entries() {
    return entries;
  }

  /**
   * Completes the file and syncs it. At least one pair must have been added. The caller must sync
   * the directory.
   */
  public void finish() throws IOException {
    if (entries == 0) {
      throw new IllegalStateException(name + ": a table has at least one pair");
    }
    finishBlock();
    byte[] maxKey = Arrays.copyOf(workspace.lastKey, lastKeyLength);

    final long indexOffset = position;
    final int indexLength = index.bytes(position);
    index.write(reserve(indexLength), position, minKey, maxKey);
    final int indexCrc = wrote(indexLength);

    final long filterOffset = position;
    final int filterLength = Math.toIntExact(BloomFilter.bytes(entries, layout.bloomBitsPerKey()));
    writeFilter(reserve(filterLength), filterLength);
    final int filterCrc = wrote(filterLength);

    final long propertiesOffset = position;
    final int propertiesLength = TableFormat.PROPERTIES_FIXED_BYTES + minKey.length + maxKey.length;
    reserve(propertiesLength)
        .putLong(number)
        .putLong(sourceLog)
        .putLong(entries)
        .putLong(tombstones)
        .putInt(minKey.length)
        .putInt(maxKey.length)
        .put(minKey)
        .put(maxKey);
    final int propertiesCrc = wrote(propertiesLength);

    ByteBuffer footer = reserve(TableFormat.FOOTER_BYTES);
    footer
        .putLong(indexOffset)
        .putLong(indexLength)
        .putLong(filterOffset)
        .putLong(filterLength)
        .putLong(propertiesOffset)
        .putLong(propertiesLength)
        .putInt(indexCrc)
        .putInt(filterCrc)
        .putInt(propertiesCrc)
        .putInt(hasCompressedBlock ? TableFormat.VERSION_COMPRESSED : TableFormat.VERSION)
        .putInt(0);
    footer.putInt(wrote(TableFormat.FOOTER_CRC_OFFSET)).putLong(TableFormat.MAGIC);
    position += TableFormat.FOOTER_BYTES - TableFormat.FOOTER_CRC_OFFSET;
    file.write(workspace.out.flip());
    assert file.length() == position : name + ": a section's length was misjudged";
    file.sync();
    file.close();
    finished = true;
  }

  private void writeFilter(ByteBuffer out, int length) {
    MemorySegment filter = MemorySegment.ofBuffer(out).asSlice(0, length).fill((byte) 0);
    for (int i = 0; i < entries && length > 0; i++) {
      BloomFilter.add(filter, 0, length, workspace.hashes[i]);
    }
    out.position(out.position() + length);
  }

  /** Counts the last {@code length} bytes of the buffer as written, and returns their checksum. */
  private int wrote(int length) {
    position += length;
    ByteBuffer bytes = workspace.out.duplicate().flip();
    return Bytes.crc32c(bytes.position(bytes.limit() - length));
  }

  /** Deletes the file unless it was finished. */
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
    workspace.reset();
  }

  private void finishBlock() throws IOException {
    if (block.count() == 0) {
      return;
    }
    int length = block.bytes();
    if (position + length > TableFormat.DATA_BYTES_MAX) {
      throw new IOException(name + ": a table holds at most 32 GiB");
    }
    index.add(position, block.keys(), block.firstKeyLength());
    ByteBuffer out = reserve(length);
    int start = out.position();
    BlockCompressor compressor =
        layout.compression() == Compression.LZ4 ? workspace.compressor() : null;
    hasCompressedBlock |= block.finish(out, position, compressor);
    position += out.position() - start;
  }

  /**
   * Returns the buffer with room for {@code bytes} more. First writes all whole pieces in it to the
   * file.
   */
  private ByteBuffer reserve(int bytes) throws IOException {
    if (workspace.out.position() >= pieceBytes) {
      writePieces(workspace.out);
    }
    ByteBuffer out = workspace.out;
    if (out.remaining() < bytes) {
      long usual = Math.min(2L * out.capacity(), pieceBytes + TableWorkspace.OUT_BYTES_MIN);
      long room = Math.max(usual, (long) out.position() + bytes);
      workspace.out = TableWorkspace.direct(Math.toIntExact(room)).put(out.flip());
    }
    return workspace.out;
  }

  private void writePieces(ByteBuffer out) throws IOException {
    int end = out.position();
    int whole = end - end % pieceBytes;
    file.write(out.flip().limit(whole));
    out.limit(end).position(whole);
    out.compact();
  }

  static long align(long value, long unit) {
    return (value + unit - 1) / unit * unit;
  }
}
