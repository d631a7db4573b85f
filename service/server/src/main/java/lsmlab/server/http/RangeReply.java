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
 * <p>Reads ahead no more than one buffer of {@value #BUFFER_BYTES} bytes, however large pairs are: a value is copied
 * in pieces as the socket takes them. When the socket is full nothing is read until it can be written again, so a slow
 * reader slows its own scan and holds nothing but the buffer and the scan's tables.
 *
 * <p>After the first part, which the variant's thread writes, the connection's selector thread writes the rest, at most
 * {@value #BUFFERS_PER_TURN} buffers before other connections have their turn. Guarded by the connection's lock.
 *
 * <p>Where the storage fails before anything is sent, the client gets a 500; after that a {@link BrokenRangeException}
 * ends the connection without the last chunk.
 */
final class RangeReply extends Session.QueueItem {

  private static final Logger log = LoggerFactory.getLogger(RangeReply.class);

  /** Memory held for one range. */
  static final int BUFFER_BYTES = 32 * 1024;

  private static final int BUFFERS_PER_TURN = 4;

  /** Room for a chunk's size, the line ends around it, and the last chunk. */
  private static final int FRAMING_BYTES_MAX = 32;

  private static final byte[] HEX = Ascii.bytes("0123456789abcdef");

  private final Scan scan;
  private final boolean chunked;
  private final DataServer server;
  private final byte[] buffer = new byte[BUFFER_BYTES];
  private int written;
  private int filled;
  private MemorySegment current;
  private MemorySegment afterCurrent;
  private long copied;
  private boolean scanned;
  private boolean done;
  private boolean released;

  /**
   * Makes one; {@link #release} closes the scan and gives the memory back to the server's budget.
   *
   * @param chunked whether the client understands chunks; otherwise the reply ends with the connection
   */
  RangeReply(Scan scan, boolean chunked, byte[] head, DataServer server) {
    this.scan = scan;
    this.chunked = chunked;
    this.server = server;
    System.arraycopy(head, 0, buffer, 0, head.length);
    filled = head.length;
    server.replyMemory().addAndGet(BUFFER_BYTES);
  }

  /** Reads the first part, before anything is sent; throws what the storage throws. */
  void readFirstPart() {
    fill();
  }

  @Override
  public int remaining() {
    return done ? 0 : 1;
  }

  @Override
  public int write(Socket socket) throws IOException {
    int total = 0;
    for (int turn = 0; turn < BUFFERS_PER_TURN && !done; turn++) {
      readOn();
      int count = socket.write(buffer, written, filled - written, 0);
      if (count > 0) {
        total += count;
        written += count;
      }
      if (written < filled) {
        break;
      }
      written = 0;
      filled = 0;
      done = scanned;
    }
    return total;
  }

  @Override
  public void release() {
    if (!released) {
      released = true;
      server.replyMemory().addAndGet(-BUFFER_BYTES);
      try {
        scan.close();
      } catch (RuntimeException | Error e) {
        // Whoever releases is about to close the connection, and must get to it.
        log.error("a scan could not be closed: what it held may stay", e);
      }
    }
  }

  private void readOn() {
    try {
      fill();
    } catch (RuntimeException | Error e) {
      server.metrics().rangeCutOff();
      throw new BrokenRangeException(!chunked, e);
    }
  }

  /** Fills the buffer as far as there are pairs. */
  private void fill() {
    while (!scanned && filled < BUFFER_BYTES - FRAMING_BYTES_MAX) {
      if (current != null) {
        copyCurrent();
      } else if (scan.next()) {
        begin(scan.key(), scan.value());
      } else {
        scanned = true;
        if (chunked) {
          append('0');
          endLine();
          endLine();
        }
      }
    }
  }

  private void begin(MemorySegment key, MemorySegment value) {
    if (chunked) {
      hex(key.byteSize() + 1 + value.byteSize());
      endLine();
    }
    current = key;
    afterCurrent = value;
    copied = 0;
  }

  /** Copies what fits of the key or the value; leaves room for the framing that follows it. */
  private void copyCurrent() {
    int room = BUFFER_BYTES - FRAMING_BYTES_MAX - filled;
    int count = (int) Math.min(room, current.byteSize() - copied);
    MemorySegment.copy(current, ValueLayout.JAVA_BYTE, copied, buffer, filled, count);
    filled += count;
    copied += count;
    if (copied < current.byteSize()) {
      return;
    }
    current = afterCurrent;
    copied = 0;
    if (afterCurrent != null) {
      append('\n');
      afterCurrent = null;
    } else if (chunked) {
      endLine();
    }
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
}
