package lsmlab.server.http;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import lsmlab.storage.ValueSink;

/**
 * One reply in one piece of an array, so that head and value take one system call. Receives a value from where it lies in
 * the engine: the only copy before the socket's. Belongs to one thread, which uses it for reply after reply and may
 * {@link #keep} some while it makes the next.
 */
final class ReplyBuffer implements ValueSink {

  /** A larger array than this is not kept after its reply. */
  private static final int KEPT_BYTES_MAX = 256 * 1024;

  private static final byte[][] VALUE_HEADS = valueHeads();

  /** Room for a value's head: the prepared part, ten digits and the empty line. */
  private static final int HEAD_BYTES_MAX = 128;

  private byte[] own;

  /** own[0..kept) holds replies that are still needed. */
  private int kept;

  private byte[] data;
  private int from;
  private int length;
  private int status;
  private Persistence persistence = Persistence.KEEP;

  ReplyBuffer(int capacity) {
    own = new byte[capacity];
  }

  /** Begins a reply. */
  void begin(Persistence how) {
    persistence = how;
    status = 0;
    if (own.length > KEPT_BYTES_MAX) {
      own = new byte[KEPT_BYTES_MAX];
      kept = 0;
    }
  }

  /** Leaves the reply's bytes as they are until {@link #reuse}. */
  void keep() {
    if (data == own) {
      kept = from + length;
    }
  }

  /** Bytes from the array's beginning that are kept. */
  int keptBytes() {
    return kept;
  }

  /** Nothing that was kept is needed any more. */
  void reuse() {
    kept = 0;
  }

  /** The reply is this array, which stays as it is. */
  void whole(int replyStatus, byte[] reply) {
    status = replyStatus;
    data = reply;
    from = 0;
    length = reply.length;
  }

  /** The reply has no body: 201, 202, 404 or 503. */
  void empty(int replyStatus) {
    whole(replyStatus, Replies.empty(replyStatus, persistence));
  }

  /** The reply is 200 with this value. */
  @Override
  public void accept(MemorySegment source, long offset, int valueLength) {
    byte[] head = VALUE_HEADS[persistence.ordinal()];
    if (own.length - kept - HEAD_BYTES_MAX < valueLength) {
      own =
          new byte
              [Math.max(
                  own.length, HEAD_BYTES_MAX + valueLength)]; // what is kept keeps the old one
      kept = 0;
    }
    byte[] out = own;
    int start = kept;
    System.arraycopy(head, 0, out, start, head.length);
    int at = decimal(out, start + head.length, valueLength);
    out[at++] = '\r';
    out[at++] = '\n';
    out[at++] = '\r';
    out[at++] = '\n';
    MemorySegment.copy(source, ValueLayout.JAVA_BYTE, offset, out, at, valueLength);
    status = 200;
    data = out;
    from = start;
    length = at + valueLength - start;
  }

  int status() {
    return status;
  }

  /** Holds the reply in its {@link #length} bytes from {@link #from}. */
  byte[] data() {
    return data;
  }

  int from() {
    return from;
  }

  int length() {
    return length;
  }

  /** Writes a number of 0 or more in decimal; returns the index behind it. */
  static int decimal(byte[] out, int at, int value) {
    int digits = 1;
    for (long bound = 10; bound <= value; bound *= 10) {
      digits++;
    }
    int rest = value;
    for (int i = at + digits - 1; i >= at; i--) {
      out[i] = (byte) ('0' + rest % 10);
      rest /= 10;
    }
    return at + digits;
  }

  private static byte[][] valueHeads() {
    Persistence[] all = Persistence.values();
    byte[][] heads = new byte[all.length][];
    for (Persistence how : all) {
      heads[how.ordinal()] =
          Ascii.bytes(Replies.statusLine(200) + how.header() + "Content-Length: ");
    }
    return heads;
  }
}
