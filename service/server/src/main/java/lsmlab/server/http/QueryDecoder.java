package lsmlab.server.http;

import java.util.Arrays;
import lsmlab.storage.Engine;
import one.nio.http.Response;

/**
 * Finds parameters in the bytes of a query, strictly (RFC 3986, 3.4). {@code %XX} is decoded, {@code +} is a plus and
 * not a space, and the result must be valid UTF-8 (RFC 3629: shortest form, no surrogates, at most U+10FFFF). A
 * parameter that is given twice is an error, because either value might be meant. Unknown parameters are ignored.
 *
 * <p>one-nio's {@code getParameter} decodes {@code a%4} as {@code a}, so two different keys would become one.
 */
final class QueryDecoder {

  private QueryDecoder() {}

  /**
   * Finds a parameter in data[from..to) and decodes its value.
   *
   * @return the value, or null if there is no such parameter
   * @throws HttpRefusal with status 400 if the query is malformed or the value is too long for a key
   */
  static byte[] find(byte[] data, int from, int to, byte[] name) {
    byte[] found = null;
    int start = from;
    while (start <= to) {
      int end = start;
      int equals = -1;
      while (end < to && data[end] != '&') {
        if (data[end] == '=' && equals < 0) {
          equals = end;
        }
        end++;
      }
      int nameEnd = equals < 0 ? end : equals;
      if (Ascii.equal(data, start, nameEnd, name)) {
        if (found != null) {
          throw badRequest("a parameter is given twice");
        }
        found = equals < 0 ? Response.EMPTY : decode(data, equals + 1, end);
      } else {
        checkEscapes(data, start, end);
      }
      start = end + 1;
    }
    return found;
  }

  private static byte[] decode(byte[] data, int from, int to) {
    byte[] out = new byte[to - from];
    int length = 0;
    boolean ascii = true;
    for (int i = from; i < to; i++) {
      byte b = data[i];
      if (b == '%') {
        b = escaped(data, i, to);
        i += 2;
        ascii &= b >= 0;
      }
      out[length++] = b;
    }
    if (!ascii && !isUtf8(out, length)) {
      throw badRequest("the key is not valid UTF-8");
    }
    if (length > Engine.KEY_BYTES_MAX) {
      throw badRequest("the key has " + length + " bytes, the maximum is " + Engine.KEY_BYTES_MAX);
    }
    return length == out.length ? out : Arrays.copyOf(out, length);
  }

  private static void checkEscapes(byte[] data, int from, int to) {
    for (int i = from; i < to; i++) {
      if (data[i] == '%') {
        escaped(data, i, to);
      }
    }
  }

  private static byte escaped(byte[] data, int percent, int to) {
    if (percent + 2 < to) {
      int high = Ascii.hex(data[percent + 1]);
      int low = Ascii.hex(data[percent + 2]);
      if (high >= 0 && low >= 0) {
        return (byte) (high << 4 | low);
      }
    }
    throw badRequest("'%' must be followed by two hexadecimal digits");
  }

  private static HttpRefusal badRequest(String message) {
    return HttpRefusal.of(Response.BAD_REQUEST, message);
  }

  /** Whether the first {@code length} bytes are well-formed UTF-8, by table 3-7 of the Unicode standard. */
  static boolean isUtf8(byte[] data, int length) {
    int i = 0;
    while (i < length) {
      int lead = data[i++] & 0xff;
      if (lead < 0x80) {
        continue;
      }
      int following = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
      if (lead < 0xc2 || lead > 0xf4 || length - i < following) {
        return false;
      }
      int second = data[i] & 0xff;
      int min = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
      int max = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
      if (second < min || second > max) {
        return false;
      }
      for (int k = 1; k < following; k++) {
        if ((data[i + k] & 0xc0) != 0x80) {
          return false;
        }
      }
      i += following;
    }
    return true;
  }
}
