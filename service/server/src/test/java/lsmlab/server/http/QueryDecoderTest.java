package lsmlab.server.http;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.Size;

class QueryDecoderTest {

  @Property
  void agreesWithTheJdkOnWhatIsUtf8(@ForAll @Size(max = 12) byte[] bytes) {
    assertEquals(jdkAccepts(bytes), QueryDecoder.isUtf8(bytes, bytes.length));
  }

  /** Bytes that random generation seldom yields: leads, continuations and their limits. */
  @Property(tries = 5000)
  void agreesWithTheJdkNearTheLimits(@ForAll @Size(min = 1, max = 5) int[] choices) {
    int[] interesting = {
      0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xed,
      0xef, 0xf0, 0xf4, 0xf5, 0xff
    };
    byte[] bytes = new byte[choices.length];
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = (byte) interesting[Math.floorMod(choices[i], interesting.length)];
    }
    assertEquals(jdkAccepts(bytes), QueryDecoder.isUtf8(bytes, bytes.length));
  }

  @Property
  void findsEncodedParameters(@ForAll String text, @ForAll boolean all) {
    byte[] utf8 = text.getBytes(StandardCharsets.UTF_8); // unpaired surrogates become '?'
    StringBuilder query = new StringBuilder("a=b%20&id=");
    for (byte b : utf8) {
      boolean plain = b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b == '+' || b == '=';
      query.append(plain && !all ? String.valueOf((char) b) : String.format("%%%02x", b & 0xff));
    }
    byte[] bytes = query.append("&c").toString().getBytes(US_ASCII);
    assertArrayEquals(utf8, QueryDecoder.find(bytes, 0, bytes.length, "id".getBytes(US_ASCII)));
  }

  private static boolean jdkAccepts(byte[] bytes) {
    try {
      StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes));
      return true;
    } catch (CharacterCodingException e) {
      return false;
    }
  }
}
