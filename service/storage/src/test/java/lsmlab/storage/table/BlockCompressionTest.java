package lsmlab.storage.table;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import lsmlab.storage.Compression;
import lsmlab.storage.CorruptionException;
import lsmlab.storage.ValueSink;
import lsmlab.storage.cursor.Cursor;
import lsmlab.storage.file.Bytes;
import lsmlab.storage.file.SimulatedDirectory;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

class BlockCompressionTest {

  private static final TableLayout LAYOUT = new TableLayout(4096, 10, Compression.LZ4);
  private static final int PAIRS = 200;
  private static final String NAME = TableFormat.fileName(7);

  private static byte[] key(int i) {
    return "key%06d".formatted(i).getBytes(UTF_8);
  }

  private static byte[] repetitive(int i) {
    return ("value " + i + " ").repeat(40).getBytes(UTF_8);
  }

  private static byte[] incompressible(int i) {
    byte[] value = new byte[400];
    new SplittableRandom(i).nextBytes(value);
    return value;
  }

  private static SimulatedDirectory written(
      TableLayout layout, int pairs, IntFunction<byte[]> values) throws IOException {
    SimulatedDirectory directory = new SimulatedDirectory();
    try (TableWriter writer = new TableWriter(directory, 7, 0, layout)) {
      for (int i = 0; i < pairs; i++) {
        byte[] value = values.apply(i);
        MemorySegment key = MemorySegment.ofArray(key(i));
        writer.add(key, 0, key(i).length, MemorySegment.ofArray(value), 0, value.length);
      }
      writer.finish();
    }
    return directory;
  }

  private static byte[] get(Table table, byte[] key) {
    byte[][] found = new byte[1][];
    table.get(
        Bytes.hash(key, 0, key.length),
        key,
        0,
        key.length,
        (source, offset, length) -> found[0] = ValueSink.copy(source, offset, length));
    return found[0];
  }

  private static int version(SimulatedDirectory directory) {
    byte[] table = directory.content(NAME);
    return ByteBuffer.wrap(table).order(ByteOrder.LITTLE_ENDIAN).getInt(table.length - 20);
  }

  @Test
  void repeatedBytesTakeAFractionOfTheSpace() throws IOException {
    SimulatedDirectory plain = written(new TableLayout(4096, 10), PAIRS, key -> repetitive(key));
    SimulatedDirectory compressed = written(LAYOUT, PAIRS, key -> repetitive(key));
    int plainBytes = plain.content(NAME).length;
    int bytes = compressed.content(NAME).length;
    assertTrue(bytes * 4 < plainBytes, bytes + " of " + plainBytes);
    assertEquals(TableFormat.VERSION, version(plain));
    assertEquals(TableFormat.VERSION_COMPRESSED, version(compressed));
  }

  /** The table equals an uncompressed one, byte for byte, so that older engines can read it. */
  @Test
  void blocksThatDoNotShrinkAreStoredUncompressed() throws IOException {
    SimulatedDirectory plain =
        written(new TableLayout(4096, 10), PAIRS, key -> incompressible(key));
    SimulatedDirectory compressed = written(LAYOUT, PAIRS, key -> incompressible(key));
    assertArrayEquals(plain.content(NAME), compressed.content(NAME));
  }

  @Test
  void aTableMayHoldCompressedAndUncompressedBlocks() throws IOException {
    IntFunction<byte[]> values = i -> i / 20 % 2 == 0 ? repetitive(i) : incompressible(i);
    Table table = Table.open(written(LAYOUT, PAIRS, values), 7);
    table.verify();
    long compressed = IntStream.range(0, table.blockCount()).filter(table::isCompressed).count();
    assertTrue(compressed > 0 && compressed < table.blockCount(), compressed + " blocks");
    Cursor cursor = table.cursor();
    boolean more = cursor.seek(null);
    for (int i = 0; i < PAIRS; i++) {
      assertTrue(more);
      assertArrayEquals(values.apply(i), get(table, key(i)));
      assertArrayEquals(
          values.apply(i),
          ValueSink.copy(cursor.valueSegment(), cursor.valueOffset(), cursor.valueLength()));
      more = cursor.next();
    }
    table.release();
  }

  @Test
  void aValueOverTheLimitIsStoredUncompressed() throws IOException {
    byte[] huge = new byte[TableFormat.COMPRESSIBLE_BYTES_MAX];
    byte[] large = new byte[TableFormat.COMPRESSIBLE_BYTES_MAX - 1024];
    List<byte[]> values = List.of(huge, large, new byte[100]);
    SimulatedDirectory directory = written(LAYOUT, values.size(), values::get);
    Table table = Table.open(directory, 7);
    assertEquals(false, table.isCompressed(0));
    assertEquals(true, table.isCompressed(1));
    for (int i = 0; i < values.size(); i++) {
      assertArrayEquals(values.get(i), get(table, key(i)));
    }
    table.release();
  }

  @Test
  void aLookupInALargeBlockAllocatesNoBuffer() throws IOException {
    TableLayout layout = new TableLayout(3 << 19, 10, Compression.LZ4);
    Table table = Table.open(written(layout, 10_000, BlockCompressionTest::repetitive), 7);
    assertEquals(true, table.isCompressed(0));
    byte[] key = key(1);
    long hash = Bytes.hash(key, 0, key.length);
    var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
    long least = Long.MAX_VALUE;
    for (int i = 0; i < 5; i++) {
      long before = threads.getCurrentThreadAllocatedBytes();
      table.get(hash, key, 0, key.length, (source, offset, length) -> {});
      least = Math.min(least, threads.getCurrentThreadAllocatedBytes() - before);
    }
    assertTrue(least < 10_000, "a lookup allocated " + least + " bytes");
    table.release();
  }

  /**
   * The decompressor must not rely on the checksum, which only tells that a block is as it was
   * written.
   */
  @Property(tries = 500)
  void contentThatIsNotLz4IsRefusedWhateverItsChecksum(@ForAll long seed) throws IOException {
    SplittableRandom random = new SplittableRandom(seed);
    SimulatedDirectory directory = written(LAYOUT, PAIRS, key -> repetitive(key));
    byte[] file = directory.content(NAME);
    Table sound = Table.open(directory, 7);
    int end = (int) sound.blockOffset(1);
    sound.release();
    for (int i = random.nextInt(1, 6); i > 0; i--) {
      file[random.nextInt(Integer.BYTES, end)] = (byte) random.nextInt(256);
    }
    MemorySegment bytes = MemorySegment.ofArray(file);
    int crc = Bytes.crc32c(bytes, Integer.BYTES, end - Integer.BYTES);
    bytes.set(Bytes.INT, 0, crc ^ TableFormat.placeMask(0));
    directory.replace(NAME, file);
    Table table = Table.open(directory, 7);
    try {
      byte[] value = get(table, key(0));
      // With a forged checksum, damage that is still valid LZ4 gives a wrong answer, not an error.
      assertTrue(value == null || value.length < TableFormat.COMPRESSIBLE_BYTES_MAX);
    } catch (CorruptionException e) {
      assertTrue(e.getMessage().contains("000007.sst at offset 0: "), e.getMessage());
    } finally {
      table.release();
    }
  }

  @Test
  void aBlockThatCannotBeDecompressedIsNamed() throws IOException {
    SimulatedDirectory directory = written(LAYOUT, PAIRS, key -> repetitive(key));
    byte[] file = directory.content(NAME);
    Table sound = Table.open(directory, 7);
    int end = (int) sound.blockOffset(1);
    sound.release();
    Arrays.fill(file, TableFormat.COMPRESSED_HEADER_BYTES, end, (byte) 0xff);
    MemorySegment bytes = MemorySegment.ofArray(file);
    int crc = Bytes.crc32c(bytes, Integer.BYTES, end - Integer.BYTES);
    bytes.set(Bytes.INT, 0, crc ^ TableFormat.placeMask(0));
    directory.replace(NAME, file);
    Table table = Table.open(directory, 7);
    CorruptionException e = assertThrows(CorruptionException.class, () -> get(table, key(0)));
    assertTrue(e.getMessage().contains("block 0 cannot be decompressed (LZ4)"), e.getMessage());
    assertArrayEquals(repetitive(PAIRS - 1), get(table, key(PAIRS - 1)));
    table.release();
  }
}
