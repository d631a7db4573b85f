package lsmlab.storage.file;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Locale;
import org.junit.jupiter.api.Test;

class FileNumbersTest {

  private static final long LARGEST = 999_999_999_999_999_999L;

  private static void assertNoNumber(String name) {
    assertEquals(-1, FileNumbers.number(name, ".sst"), name);
  }

  private static void assertReadBack(long number, String name) {
    assertEquals(name, FileNumbers.name(number, ".sst"));
    assertEquals(number, FileNumbers.number(name, ".sst"));
  }

  @Test
  void namesAreReadBack() {
    assertReadBack(0, "000000.sst");
    assertReadBack(42, "000042.sst");
    assertReadBack(999_999, "999999.sst");
    assertReadBack(1_000_000, "1000000.sst");
    assertReadBack(12_345_678, "12345678.sst");
    assertReadBack(LARGEST, "999999999999999999.sst");
  }

  @Test
  void aNameInAnotherFormIsNotRead() {
    assertNoNumber("42.sst"); // too short
    assertNoNumber("0000042.sst"); // too long for its number
    assertNoNumber("-00042.sst");
    assertNoNumber("+00042.sst");
    assertNoNumber("x00042.sst");
    assertNoNumber(" 00042.sst");
    assertNoNumber("0000 2.sst");
    assertNoNumber("٠٠٠٠٤٢.sst"); // digits, but not ASCII
  }

  @Test
  void aNameWithoutDigitsOrSuffixIsNotRead() {
    assertNoNumber("");
    assertNoNumber(".sst");
    assertNoNumber("sst");
    assertNoNumber("000042");
    assertNoNumber("MANIFEST");
  }

  @Test
  void aNameWithAnotherSuffixIsNotRead() {
    assertNoNumber("000042.wal");
    assertNoNumber("000042.SST");
    assertNoNumber("000042.sst.tmp");
    assertNoNumber("000042.tmp.sst");
  }

  @Test
  void aNumberTooLargeForALongIsNotRead() {
    assertNoNumber("1000000000000000000.sst"); // 19 digits, the smallest
    assertNoNumber("9223372036854775807.sst");
    assertNoNumber("9223372036854775808.sst");
    assertNoNumber("99999999999999999999999999.sst");
  }

  @Test
  void namesHaveAsciiDigitsInEveryLocale() {
    Locale before = Locale.getDefault();
    Locale.setDefault(Locale.forLanguageTag("ar-EG-u-nu-arab"));
    try {
      assertReadBack(42, "000042.sst");
    } finally {
      Locale.setDefault(before);
    }
  }
}
