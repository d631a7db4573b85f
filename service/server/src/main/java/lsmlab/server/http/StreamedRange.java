package lsmlab.server.http;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import lsmlab.storage.Scan;
import one.nio.net.Session;
import one.nio.net.Socket;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A range on its way to a client: one HTTP chunk of {@code key\nvalue} for each pair, in key order.
 *
 * <p><b>Protocol.</b> Two steps alternate. {@link #fill} reads pairs from the storage until one buffer of {@value
 * #BUFFER_BYTES} bytes is full, on the thread on which the variant executes the request. Then the session writes the
 * buffer as fast as the socket accepts it. Once the buffer is empty, the session submits the request to the variant
 * again. So no thread waits for a slow reader. Between two calls of {@code fill} the scan is paused: a slow reader keeps
 * {@value #BYTES_MAX} bytes and the scan's tables alive, however large the pairs are.
 *
 * <p>Used by one thread at a time: by the variant's thread while it executes the request, and otherwise under the
 * session's lock.
 */
final class StreamedRange extends Session.QueueItem {

  private static final Logger log = LoggerFactory.getLogger(StreamedRange.class);

  /** Size of the buffer of one range in bytes. */
  static final int BUFFER_BYTES = 64 * 1024;

  /** Maximum number of bytes of heap that a range keeps: its buffer, and what its paused scan keeps. */
  static final int BYTES_MAX = BUFFER_BYTES + Scan.PAUSED_BYTES_MAX;

  /** Maximum number of bytes for a chunk's size, the line ends around it, and the last chunk. */
  private static final int FRAMING_BYTES_MAX = 32;

  private static final byte[] HEX = Ascii.bytes("0123456789abcdef");

  /** The part of the pair at the scan's cursor that is copied next. */
  private enum Part {
    NONE,
    KEY,
    VALUE
  }

  private final Scan scan;
  private final Deadlines deadlines;
  private final MemoryBudget budget;
  private final byte[] buffer = new byte[BUFFER_BYTES];
  private int written;
  private int filled;
  private Part part = Part.NONE;
  private MemorySegment key;
  private MemorySegment value;

  /** Number of bytes of the part that earlier buffers or this one hold. */
  private long copied;

  private boolean scanned;
  private boolean ended;

  /**
   * Makes a range. {@link #end} closes the scan and returns the memory.
   *
   * @param head head of the response, with which the first buffer begins
   */
  StreamedRange(Scan scan, byte[] head, Deadlines deadlines, MemoryBudget budget) {
    this.scan = scan;
    this.deadlines = deadlines;
    this.budget = budget;
    System.arraycopy(head, 0, buffer, 0, head.length);
    filled = head.length;
    budget.hold(BYTES_MAX);
  }

  /** Whether the buffer holds the end of the range. */
  boolean isLast() {
    return scanned;
  }

  /** Fills the buffer with pairs until it is full or the scan ends. Throws the storage's exceptions. */
  void fill() {
    assert !ended : "the scan is closed";
    assert written == 0 || written == filled : "a part of the buffer has not been written yet";
    if (written == filled) {
      written = 0;
      filled = 0;
    }
    if (part != Part.NONE) {
      scan.resume();
      key = scan.key();
      value = scan.value();
    }
    while (!scanned && filled < BUFFER_BYTES - FRAMING_BYTES_MAX) {
      switch (part) {
        case NONE -> begin();
        case KEY -> {
          if (copies(key)) {
            append('\n');
            part = Part.VALUE;
          }
        }
        case VALUE -> {
          if (copies(value)) {
            endLine();
            part = Part.NONE;
          }
        }
      }
    }
    key = null;
    value = null;
    scan.pause();
  }

  private void begin() {
    if (scan.next()) {
      key = scan.key();
      value = scan.value();
      hex(key.byteSize() + 1 + value.byteSize());
      part = Part.KEY;
    } else {
      scanned = true;
      append('0');
      endLine();
    }
    endLine();
  }

  /** Copies as much as fits, and leaves room for the framing that follows. Returns whether all is copied. */
  private boolean copies(MemorySegment source) {
    int room = BUFFER_BYTES - FRAMING_BYTES_MAX - filled;
    int count = (int) Math.min(room, source.byteSize() - copied);
    MemorySegment.copy(source, ValueLayout.JAVA_BYTE, copied, buffer, filled, count);
    filled += count;
    copied += count;
    boolean all = copied == source.byteSize();
    if (all) {
      copied = 0;
    }
    return all;
  }

  private void hex(long value) {
    int shift = Math.max(0, 60 - Long.numberOfLeadingZeros(value) / 4 * 4);
    for (; shift >= 0; shift -= 4) {
      buffer[filled++] = HEX[(int) (value >>> shift) & 15];
    }
  }

  private void endLine() {
    append('\r');
    append('\n');
  }

  private void append(char ascii) {
    buffer[filled++] = (byte) ascii;
  }

  // ---- in the session's queue

  @Override
  public int remaining() {
    return filled - written;
  }

  @Override
  public int write(Socket socket) throws IOException {
    int count = socket.write(buffer, written, filled - written, 0);
    if (count > 0) {
      written += count;
      assert written <= filled : "the socket has taken more than it was given";
      deadlines.sent(count);
    }
    return count;
  }

  /** Called when the buffer has been written, or the session has ended before that. */
  @Override
  public void release() {
    if (scanned || remaining() > 0) {
      end();
    }
  }

  /** Closes the scan and returns the memory to the budget. Idempotent. */
  void end() {
    if (ended) {
      return;
    }
    ended = true;
    budget.release(BYTES_MAX);
    try {
      scan.close();
    } catch (RuntimeException | Error e) {
      // The caller is about to close the connection and must not be stopped by an exception.
      log.error("a scan could not be closed: its memory and files may not be freed", e);
    }
  }
}
