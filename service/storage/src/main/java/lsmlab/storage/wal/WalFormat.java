package lsmlab.storage.wal;

import lsmlab.storage.file.FileNumbers;

/** Constants of the log format, which the package documentation draws. */
public final class WalFormat {

  static final int VERSION = 2;
  static final int HEADER_BYTES = 13;
  static final int CRC = 4;
  static final int LENGTH = 8;
  static final int TYPE = 12;

  static final byte PUT = 1;
  static final byte DELETE = 2;
  static final byte BEGIN = 3;
  static final byte SYNCED = 4;

  static final int BEGIN_PAYLOAD_BYTES = 29;

  /** Size of a {@code synced} record in bytes. */
  static final int SYNCED_BYTES = HEADER_BYTES + Long.BYTES;

  /** Smallest unit in bytes that a device may write atomically. Real sectors may be larger. */
  static final int SECTOR_BYTES = 512;

  private static final String SUFFIX = ".wal";

  private WalFormat() {}

  /**
   * Returns the key with which the record heads of log {@code number} are computed. The salt is 0
   * for the first record, which contains the salt of all others.
   */
  static long key(long number, long salt) {
    return salt ^ (number + 1) * 0x9E3779B97F4A7C15L;
  }

  /**
   * Returns the first field of a record: a hash of the other fields, the offset and the random salt
   * of the log. So the bytes of a value cannot pass for a record: a client knows neither their
   * offset nor the salt.
   */
  static int head(long key, long position, int crc, int length, byte type) {
    long hash = key ^ (position + 1) * 0xD6E8FEB86659FD93L;
    hash = (hash ^ (hash >>> 32)) * 0xA0761D6478BD642FL;
    hash ^= (long) length << 32 | crc & 0xffff_ffffL;
    hash = (hash ^ (hash >>> 29)) * 0xE7037ED1A0B428DBL;
    hash = (hash + type ^ (hash >>> 32)) * 0x9E3779B97F4A7C15L;
    return (int) (hash >>> 32);
  }

  /** Returns the file name of log {@code number}. */
  public static String fileName(long number) {
    return FileNumbers.name(number, SUFFIX);
  }

  /** Returns the number in the file name of a log, or −1 if the name is not that of a log. */
  public static long number(String fileName) {
    return FileNumbers.number(fileName, SUFFIX);
  }
}
