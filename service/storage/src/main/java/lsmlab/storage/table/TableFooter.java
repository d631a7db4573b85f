package lsmlab.storage.table;

import java.lang.foreign.MemorySegment;
import lsmlab.storage.CorruptionException;
import lsmlab.storage.ValueSink;
import lsmlab.storage.file.Bytes;

/**
 * The sections after the blocks of a table: index, filter, properties and footer. The constructor
 * checks all of them. Immutable.
 */
final class TableFooter {

  final TableIndex index;

  /** Whether some blocks are compressed. */
  final boolean compressed;

  final long filterOffset;
  final long filterLength;
  final long sourceLog;
  final long entries;
  final long tombstones;
  final byte[] minKey;
  final byte[] maxKey;

  /**
   * Reads and checks the sections.
   *
   * @param bytes the whole table
   * @throws CorruptionException if a section is damaged
   * @throws IndexOutOfBoundsException or {@link NegativeArraySizeException} if lengths contradict
   *     each other
   */
  TableFooter(TableFile file, MemorySegment bytes) {
    long size = bytes.byteSize();
    long footer = size - TableFormat.FOOTER_BYTES;
    if (footer < 0 || bytes.get(Bytes.LONG, size - Long.BYTES) != TableFormat.MAGIC) {
      throw file.corrupt(Math.max(0, footer), "this is not a table, or its end is missing");
    }
    int crc = Bytes.crc32c(bytes, footer, TableFormat.FOOTER_CRC_OFFSET);
    if (crc != bytes.get(Bytes.INT, footer + TableFormat.FOOTER_CRC_OFFSET)) {
      throw file.corrupt(footer, "the footer's checksum does not match");
    }
    int version = bytes.get(Bytes.INT, footer + 60);
    if (version != TableFormat.VERSION && version != TableFormat.VERSION_COMPRESSED) {
      throw new CorruptionException(
          "%s: table format version %d, this engine reads %d and %d"
              .formatted(
                  file.describe(), version, TableFormat.VERSION, TableFormat.VERSION_COMPRESSED));
    }
    compressed = version == TableFormat.VERSION_COMPRESSED;
    long indexOffset = bytes.get(Bytes.LONG, footer);
    long indexLength = bytes.get(Bytes.LONG, footer + 8);
    filterOffset = bytes.get(Bytes.LONG, footer + 16);
    filterLength = bytes.get(Bytes.LONG, footer + 24);
    long propertiesOffset = bytes.get(Bytes.LONG, footer + 32);
    long propertiesLength = bytes.get(Bytes.LONG, footer + 40);
    checkSection(file, bytes, "index", indexOffset, indexLength, footer + 48);
    checkSection(file, bytes, "filter", filterOffset, filterLength, footer + 52);
    checkSection(file, bytes, "properties", propertiesOffset, propertiesLength, footer + 56);
    if (propertiesOffset + propertiesLength != footer
        || filterOffset + filterLength != propertiesOffset
        || indexOffset + indexLength != filterOffset) {
      throw file.corrupt(footer, "the sections are not adjacent");
    }

    long number = bytes.get(Bytes.LONG, propertiesOffset);
    if (number != file.number()) {
      throw file.corrupt(
          propertiesOffset, "the file contains table " + number + ", contrary to its name");
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
      throw file.corrupt(indexOffset, "the index does not describe the blocks before it");
    }
  }

  private static void checkSection(
      TableFile file, MemorySegment bytes, String what, long offset, long length, long crcOffset) {
    long footer = bytes.byteSize() - TableFormat.FOOTER_BYTES;
    if (offset < 0 || length < 0 || offset > footer || length > footer - offset) {
      throw file.corrupt(footer, "the " + what + " is outside the file");
    }
    if (Bytes.crc32c(bytes, offset, length) != bytes.get(Bytes.INT, crcOffset)) {
      throw file.corrupt(offset, "the " + what + "'s checksum does not match");
    }
  }
}
