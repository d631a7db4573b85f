package lsmlab.server.http;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RequestHeadTest {

  /** Every head of the conformance cases after every other: the shortcut says what parsing it alone says, or nothing. */
  @Test
  void whatIsParsedLikeTheLastOneIsParsedRight() {
    List<byte[]> all = new ArrayList<>();
    for (ConformanceCases.Case which : ConformanceCases.all()) {
      if (which.bytes().length() < 1000) {
        all.add(which.bytes().getBytes(ISO_8859_1));
      }
    }
    int taken = 0;
    for (byte[] last : all) {
      for (byte[] data : all) {
        RequestHead head = new RequestHead();
        parse(head, last);
        int end = head.parseLikeLast(data, 0, data.length);
        if (end >= 0) {
          taken++;
          String expected = parse(new RequestHead(), data);
          assertEquals(expected, describe(head, end), new String(data, ISO_8859_1));
          for (int to = 0; to < end; to++) {
            assertEquals(-1, head.parseLikeLast(data, 0, to), "a part of the head");
          }
        }
      }
    }
    assertTrue(taken > all.size(), "heads that were like the last one: " + taken);
  }

  @ParameterizedTest
  @CsvSource({
    "500, 9, 9",
    "500, 123456789012345678, 123456789012345678",
    "5, 007, 7",
    "5, 1234567890123456789, -1",
    "5, '', -1",
    "5, x, -1",
    "5, '5 ', -1",
    "5, '+5', -1",
    "5, '5, 5', -1",
    "5, '5\r\nContent-Length: 6', -1",
  })
  void contentLengthMayDifferFromTheLastOneByItsDigitsAlone(
      String last, String length, long expected) {
    RequestHead head = new RequestHead();
    String form = "PUT /v0/entity?id=%s HTTP/1.1\r\nHost: a\r\nContent-Length: %s\r\nA: b\r\n\r\n";
    parse(head, String.format(form, "key", last).getBytes(ISO_8859_1));
    String before = describe(head, 0);
    byte[] data = String.format(form, "other", length).getBytes(ISO_8859_1);
    int end = head.parseLikeLast(data, 0, data.length);
    assertEquals(expected < 0 ? -1 : data.length, end);
    if (end < 0) {
      assertEquals(before, describe(head, 0));
    } else {
      assertEquals(expected, head.contentLength);
      assertEquals(parse(new RequestHead(), data), describe(head, end));
    }
  }

  private static String parse(RequestHead head, byte[] data) {
    try {
      int end = new HeadScanner().scan(data, 0, data.length);
      if (end < 0) {
        return "incomplete";
      }
      head.parse(data, 0, end);
      return describe(head, end);
    } catch (BadRequestException e) {
      return "status " + e.status();
    }
  }

  private static String describe(RequestHead head, int end) {
    return String.join(
        " ",
        "end " + end,
        "method " + head.method,
        "query " + head.queryStart + " to " + head.queryEnd,
        head.http10 + " " + head.keepAlive + " " + head.expectContinue + " " + head.head,
        "length " + head.contentLength,
        "failure " + (head.failure == null ? "none" : head.failure.getMessage()));
  }
}
