package lsmlab.storage.textbook;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import lsmlab.storage.file.Bytes;
import lsmlab.storage.file.StoreDirectory;
import lsmlab.storage.file.WritableFile;
import lsmlab.storage.table.BloomFilter;

/** Writes a table. The package draws its file. Walks the entries twice: positions, then records. */
public final class TableFile {

  /** The name of the version of the format, for the list of formats. */
  public static final String FORMAT = "textbook-" + MappedTable.VERSION;

  static final String PART_SUFFIX = ".part";

  private static final int BUFFER_BYTES = 256 * 1024;

  private final WritableFile file;
  private final ByteBuffer buffer =
      ByteBuffer.allocateDirect(BUFFER_BYTES).order(ByteOrder.LITTLE_ENDIAN);

  private TableFile(WritableFile file) {
    this.file = file;
  }

  /**
   * Writes one table of a dataset, and returns the name of its file.
   *
   * @param number position among the dataset's tables, from 1; a later table is newer
   * @param entries in ascending order, each key once; must be the same each time
   * @param bloomBitsPerKey 0 for no filter
   */
  public static String write(
      StoreDirectory directory, long number, Iterable<Entry> entries, int bloomBitsPerKey)
      throws IOException {
    MappedTable.Name name = new MappedTable.Name(number, number);
    write(directory, name, entries, bloomBitsPerKey, false);
    return name.toString();
  }

  /**
   * Writes the table and gives it its name when it is complete.
   *
   * @param sync whether the file survives a loss of power once this method returns
   */
  static void write(
      StoreDirectory directory,
      MappedTable.Name name,
      Iterable<Entry> entries,
      int bloomBitsPerKey,
      boolean sync)
      throws IOException {
    String part = name + PART_SUFFIX;
    try (WritableFile file = directory.create(part)) {
      TableFile table = new TableFile(file);
      table.writeHead(entries, bloomBitsPerKey);
      for (Entry entry : entries) {
        table.writeRecord(entry);
      }
      table.drain();
      if (sync) {
        file.sync();
      }
    } catch (IOException | RuntimeException | Error e) {
      try {
        directory.delete(part);
      } catch (IOException cannotDelete) {
        e.addSuppressed(cannotDelete);
      }
      throw e;
    }
    directory.rename(part, name.toString());
    if (sync) {
      directory.sync();
    }
  }

  private void writeHead(Iterable<Entry> entries, int bloomBitsPerKey) throws IOException {
    long[] positions = new long[1024];
    long[] hashes = new long[bloomBitsPerKey == 0 ? 0 : 1024];
    int count = 0;
    long bytes = 0;
    for (Entry entry : entries) {
      if (count == positions.length) {
        positions = Arrays.copyOf(positions, 2 * count);
        hashes = Arrays.copyOf(hashes, 2 * hashes.length);
      }
      if (bloomBitsPerKey > 0) {
        hashes[count] =
            Bytes.hash(entry.key().toArray(ValueLayout.JAVA_BYTE), 0, (int) entry.key().byteSize());
      }
      positions[count++] = bytes;
      bytes += entry.bytes();
    }
    long filterBytes = BloomFilter.bytes(count, bloomBitsPerKey);
    long recordsAt = MappedTable.HEADER_BYTES + filterBytes + (long) count * Long.BYTES;
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment head = arena.allocate(recordsAt);
      head.set(Bytes.LONG, 0, MappedTable.MAGIC);
      head.set(Bytes.LONG, MappedTable.COUNT_AT, count);
      head.set(Bytes.LONG, MappedTable.FILTER_BYTES_AT, filterBytes);
      head.set(Bytes.LONG, MappedTable.LENGTH_AT, recordsAt + bytes);
      long positionsAt = MappedTable.HEADER_BYTES + filterBytes;
      for (int i = 0; i < count; i++) {
        if (bloomBitsPerKey > 0) {
          BloomFilter.add(head, MappedTable.HEADER_BYTES, filterBytes, hashes[i]);
        }
        head.set(Bytes.LONG, positionsAt + (long) i * Long.BYTES, recordsAt + positions[i]);
      }
      put(head);
    }
  }

  private void writeRecord(Entry entry) throws IOException {
    if (buffer.remaining() < MappedTable.RECORD_HEAD_BYTES) {
      drain();
    }
    buffer.putInt((int) entry.key().byteSize());
    buffer.putInt(entry.isTombstone() ? MappedTable.TOMBSTONE : (int) entry.value().byteSize());
    put(entry.key());
    if (!entry.isTombstone()) {
      put(entry.value());
    }
  }

  private void put(MemorySegment bytes) throws IOException {
    for (long at = 0; at < bytes.byteSize(); ) {
      if (!buffer.hasRemaining()) {
        drain();
      }
      long piece = Math.min(buffer.remaining(), bytes.byteSize() - at);
      buffer.put(bytes.asSlice(at, piece).asByteBuffer());
      at += piece;
    }
  }

  private void drain() throws IOException {
    buffer.flip();
    file.write(buffer);
    buffer.clear();
  }
}
