package lsmlab.server.http;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** A head's end is found in the same place however the bytes arrive. */
class HeadScannerTest {

  static Stream<ConformanceCases.Case> cases() {
    return ConformanceCases.all().stream().filter(which -> which.bytes().length() < 300);
  }

  @ParameterizedTest
  @MethodSource("cases")
  void splitAtEveryByte(ConformanceCases.Case which) {
    byte[] data = which.bytes().getBytes(ISO_8859_1);
    String whole = scan(data, data.length);
    for (int split = 0; split < data.length; split++) {
      assertEquals(whole, scan(data, split), "split at " + split);
    }
    String byByte = "";
    HeadScanner scanner = new HeadScanner();
    for (int to = 1; to <= data.length && byByte.isEmpty(); to++) {
      byByte = scan(scanner, data, to);
    }
    assertEquals(whole, byByte);
  }

  private static String scan(byte[] data, int split) {
    HeadScanner scanner = new HeadScanner();
    String first = scan(scanner, data, split);
    return first.isEmpty() ? scan(scanner, data, data.length) : first;
  }

  /** The end, or the error's status, or nothing where more is needed. */
  private static String scan(HeadScanner scanner, byte[] data, int to) {
    try {
      int end = scanner.scan(data, 0, to);
      return end < 0 ? "" : "ends at " + end;
    } catch (BadRequestException e) {
      return "status " + e.status();
    }
  }
}
