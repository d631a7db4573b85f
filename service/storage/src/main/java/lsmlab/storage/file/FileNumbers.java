package lsmlab.storage.file;

import java.util.Locale;

/**
 * Names of files that are numbered: the number with at least six decimal digits, then a suffix that tells the kind of
 * file.
 */
public final class FileNumbers {

  /** Every number with this many digits fits in a long. */
  private static final int DIGITS_MAX = 18;

  private FileNumbers() {}

  /** Returns the name of file {@code number}, which is not negative. The same in every locale. */
  public static String name(long number, String suffix) {
    return String.format(Locale.ROOT, "%06d%s", number, suffix);
  }

  /** Returns the number in a name that {@link #name} returns for this suffix, or −1 for any other name. */
  public static long number(String name, String suffix) {
    if (!name.endsWith(suffix)) {
      return -1;
    }
    String digits = name.substring(0, name.length() - suffix.length());
    if (digits.isEmpty()
        || digits.length() > DIGITS_MAX
        || !digits.chars().allMatch(Character::isDigit)) {
      return -1;
    }
    long number = Long.parseLong(digits);
    return name(number, suffix).equals(name) ? number : -1;
  }
}
