package lsmlab.storage.table;

/** Constants of the file format; the drawing is in the package's documentation. */
public final class TableFormat {

  /** "LSMLABST" as it stands in the file. May never change. */
  static final long MAGIC = 0x545342414C4D534CL;

  /** The version of tables without compressed blocks; part of a dataset's identity. */
  public static final int VERSION = 2;

  /** The version of tables with compressed blocks. An engine without compression refuses them. */
  static final int VERSION_COMPRESSED = 3;

  static final int FOOTER_BYTES = 80;
  static final int FOOTER_CRC_OFFSET = 68;
  static final int PROPERTIES_FIXED_BYTES = 40;
  static final int BLOCK_ALIGNMENT = 8;
  static final int LINE_BYTES = 64;
  static final int BLOCK_HEADER_BYTES = 8;
  static final int SLOT_BYTES = 8;
  static final int COMPRESSED_HEADER_BYTES = 12;
  static final int COMPRESSED_BIT = 0x8000_0000;

  /** Larger blocks are not compressed: writer and reader hold a block in memory twice. */
  static final int COMPRESSIBLE_BYTES_MAX = 16 << 20;

  static final int TOMBSTONE_BIT = 0x8000_0000;
  static final int OFFSET_MASK = 0x7fff_ffff;

  /** Largest file: block offsets are 32 bits in units of {@link #BLOCK_ALIGNMENT}. */
  static final long DATA_BYTES_MAX = 0xffff_ffffL * BLOCK_ALIGNMENT;

  private static final String SUFFIX = ".sst";

  private TableFormat() {}

  /** The name of table {@code number}'s file. */
  public static String fileName(long number) {
    return "%06d%s".formatted(number, SUFFIX);
  }

  /** The number in a table's file name, or −1 if it is not one. */
  public static long number(String fileName) {
    if (!fileName.endsWith(SUFFIX)) {
      return -1;
    }
    String digits = fileName.substring(0, fileName.length() - SUFFIX.length());
    if (digits.isEmpty() || digits.length() > 18 || !digits.chars().allMatch(Character::isDigit)) {
      return -1;
    }
    long number = Long.parseLong(digits);
    return fileName(number).equals(fileName) ? number : -1;
  }

  /** What a block's checksum is combined with. */
  static int placeMask(long blockOffset) {
    long mixed = (blockOffset + 1) * 0x9E3779B97F4A7C15L;
    return (int) (mixed >>> 32);
  }
}
