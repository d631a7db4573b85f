package lsmlab.storage.table;

import lsmlab.storage.file.FileNumbers;

/** Constants of the file format, which the package documentation draws. */
public final class TableFormat {

  /** The bytes "LSMLABST". Must never change. */
  static final long MAGIC = 0x545342414C4D534CL;

  /**
   * Version of tables without compressed blocks. Part of a dataset's identity: the lab makes a dataset again when a
   * version changes.
   */
  public static final int VERSION = 2;

  /** Version of tables with compressed blocks. Engines that predate compression refuse it. */
  public static final int VERSION_COMPRESSED = 3;

  static final int FOOTER_BYTES = 80;
  static final int FOOTER_CRC_OFFSET = 68;
  static final int PROPERTIES_FIXED_BYTES = 40;
  static final int BLOCK_ALIGNMENT = 8;
  static final int LINE_BYTES = 64;
  static final int BLOCK_HEADER_BYTES = 8;
  static final int SLOT_BYTES = 8;
  static final int COMPRESSED_HEADER_BYTES = 12;
  static final int COMPRESSED_BIT = 0x8000_0000;

  /**
   * Size above which a block is not compressed, because writer and reader hold a compressed block
   * in memory twice.
   */
  static final int COMPRESSIBLE_BYTES_MAX = 16 << 20;

  static final int TOMBSTONE_BIT = 0x8000_0000;
  static final int OFFSET_MASK = 0x7fff_ffff;

  /**
   * Maximum total size of all blocks in bytes: a block's offset has 32 bits and counts units of
   * {@link #BLOCK_ALIGNMENT}.
   */
  static final long DATA_BYTES_MAX = 0xffff_ffffL * BLOCK_ALIGNMENT;

  private static final String SUFFIX = ".sst";

  private TableFormat() {}

  /** Returns the file name of table {@code number}. */
  public static String fileName(long number) {
    return FileNumbers.name(number, SUFFIX);
  }

  /** Returns the number in the file name of a table, or −1 if the name is not that of a table. */
  public static long number(String fileName) {
    return FileNumbers.number(fileName, SUFFIX);
  }

  /**
   * Returns the mask that is combined with a block's checksum, so that a block at the wrong offset
   * fails its check.
   */
  static int placeMask(long blockOffset) {
    long mixed = (blockOffset + 1) * 0x9E3779B97F4A7C15L;
    return (int) (mixed >>> 32);
  }
}
