package lsmlab.profiler;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;
import one.jfr.JfrReader;

/**
 * Reads a recording whose names of threads, classes and methods may hold any character. All names pass through {@link
 * #getBytes}, so every output shows the same.
 */
final class RecordingReader extends JfrReader {

  /** Characters that end a line or that XML does not allow. */
  private static final Pattern NOT_PRINTED = Pattern.compile("[\\p{Cc}\\p{Zl}\\p{Zp}\\x{FFFE}\\x{FFFF}]");

  /** Begins a tag that ends or changes the script in which a page keeps its names. */
  private static final Pattern TAG = Pattern.compile("<(?=[/!])");

  private static final int MODIFIED_UTF8_BYTES_MAX = 0xFFFF;

  RecordingReader(String recording) throws IOException {
    super(recording);
  }

  /** Returns the bytes of a name in UTF-8, with a space instead of each character that is not printed. */
  @Override
  public byte[] getBytes() {
    byte[] bytes = super.getBytes();
    if (isPlain(bytes)) {
      return bytes;
    }
    String name = NOT_PRINTED.matcher(decode(bytes)).replaceAll(" ");
    return TAG.matcher(name).replaceAll("< ").getBytes(StandardCharsets.UTF_8);
  }

  private static boolean isPlain(byte[] bytes) {
    for (int i = 0; i < bytes.length; i++) {
      if (bytes[i] < ' ' || bytes[i] == 0x7F || bytes[i] == '<') {
        return false;
      }
    }
    return true;
  }

  /** Decodes UTF-8, or the JVM's modified UTF-8, in which characters beyond U+FFFF and NUL differ. */
  private static String decode(byte[] bytes) {
    String name = new String(bytes, StandardCharsets.UTF_8);
    if (name.indexOf('\uFFFD') < 0 || bytes.length > MODIFIED_UTF8_BYTES_MAX) {
      return name;
    }
    byte[] withLength = ByteBuffer.allocate(2 + bytes.length).putShort((short) bytes.length).put(bytes).array();
    try {
      return new DataInputStream(new ByteArrayInputStream(withLength)).readUTF();
    } catch (IOException e) {
      return name;
    }
  }
}
