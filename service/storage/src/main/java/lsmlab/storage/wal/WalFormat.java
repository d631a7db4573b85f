package lsmlab.storage.wal;

/** Constants of the log's format; the drawing is in the package's documentation. */
public final class WalFormat {

  static final int VERSION = 1;
  static final int HEADER_BYTES = 17;
  static final int LENGTH = 4;
  static final int LOG = 8;
  static final int TYPE = 16;

  static final byte PUT = 1;
  static final byte DELETE = 2;
  static final byte BEGIN = 3;
  static final byte SYNCED = 4;

  static final int BEGIN_PAYLOAD_BYTES = 21;

  private static final String SUFFIX = ".wal";

  private WalFormat() {}

  /** The name of log {@code number}'s file. */
  public static String fileName(long number) {
    return "%06d%s".formatted(number, SUFFIX);
  }

  /** The number in a log's file name, or −1 if it is not one. */
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
}
