package lsmlab.server.http;

import java.util.Arrays;
import lsmlab.server.metrics.Method;
import lsmlab.server.metrics.Recorder;
import lsmlab.server.variant.Rejection;
import lsmlab.server.variant.Request;
import lsmlab.storage.OverloadedException;
import lsmlab.storage.ReadOnlyException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The request that a connection has in flight: its key and body, and how it is run and answered. A connection has one
 * of these and uses it again and again.
 *
 * <p><b>Who owns it.</b> The thread that parses, under the connection's lock, until the request is submitted to the
 * variant; then the thread that calls {@link #run} or {@link #reject}, which writes the reply at once or, where it is an
 * {@link EventLoop}, at the end of its turn; and from the moment that thread has written the reply the connection again,
 * whose next request may be parsed by another thread at once. So whatever is needed after the reply is read before it.
 */
final class Exchange implements Request {

  private static final Logger log = LoggerFactory.getLogger(Exchange.class);
  private static final byte[] ID = Ascii.bytes("id");
  private static final byte[] START = Ascii.bytes("start");
  private static final byte[] END = Ascii.bytes("end");
  private static final byte[] NO_BYTES = new byte[0];

  /** A larger body's array is not kept for the next request. */
  private static final int KEPT_BODY_BYTES_MAX = 8 * 1024;

  private static final int KEPT_KEY_BYTES_MAX = 1024;
  private static final int FIRST_BODY_BYTES = 64 * 1024;

  private final Connection connection;
  private final DataServer server;

  private Method method = Method.OTHER;
  private Persistence persistence = Persistence.KEEP;
  private boolean http10;
  private byte[] key = new byte[64];
  private int keyLength;
  private byte[] end = NO_BYTES;
  private int endLength;
  private byte[] body = NO_BYTES;
  private int bodyLength;
  private int bodyExpected;
  private int heldBytes;

  private byte[] reply;
  private int replyFrom;
  private int replyLength;
  private int status;
  private boolean turnedAway;

  /** Whether this request is counted and timed. */
  private boolean timed;

  private long arrivedNanos;
  private long submittedNanos;
  private long startedNanos;
  private long storedNanos;

  Exchange(Connection connection, DataServer server) {
    this.connection = connection;
    this.server = server;
  }

  /**
   * Takes what it needs of a parsed head.
   *
   * @throws BadRequestException if the query does not name what the method needs, or the body is not acceptable
   */
  void prepare(byte[] data, RequestHead head, QueryDecoder decoder) throws BadRequestException {
    method = head.method;
    http10 = head.http10;
    persistence = Persistence.of(head);
    if (head.method == Method.RANGE) {
      keyLength = parameter(data, head, decoder, START, "start");
      endLength = decoder.find(data, head.queryStart, head.queryEnd, END, end);
      end = decoder.decoded();
      if (endLength == 0) {
        throw BadRequestException.refused(400, "parameter end is empty");
      }
    } else {
      keyLength = parameter(data, head, decoder, ID, "id");
    }
    bodyLength = 0;
    bodyExpected = 0;
    if (head.method == Method.PUT) {
      if (head.contentLength == RequestHead.NO_LENGTH) {
        throw BadRequestException.refused(411, "a PUT needs Content-Length");
      }
      if (head.contentLength > server.maxValueBytes()) {
        throw BadRequestException.refused(
            413,
            "the value has "
                + head.contentLength
                + " bytes, allowed are "
                + server.maxValueBytes());
      }
      bodyExpected = (int) head.contentLength;
    }
  }

  private int parameter(
      byte[] data, RequestHead head, QueryDecoder decoder, byte[] name, String called)
      throws BadRequestException {
    int length = decoder.find(data, head.queryStart, head.queryEnd, name, key);
    key = decoder.decoded();
    if (length == QueryDecoder.ABSENT) {
      throw BadRequestException.refused(400, "parameter " + called + " is missing");
    }
    if (length == 0) {
      throw BadRequestException.refused(400, "parameter " + called + " is empty");
    }
    return length;
  }

  /**
   * Takes as much of the body as there is. The array grows with what arrives, so a length that is only promised costs
   * nothing.
   *
   * @return how many bytes were taken, -1 where all requests together hold too much memory
   */
  int takeBody(byte[] data, int from, int to) {
    int count = Math.min(to - from, bodyExpected - bodyLength);
    if (body.length < bodyLength + count) {
      int wanted = Math.max(bodyLength + count, Math.min(2 * bodyLength, bodyExpected));
      int size = Math.max(wanted, Math.min(bodyExpected, FIRST_BODY_BYTES));
      if (size > KEPT_BODY_BYTES_MAX && !hold(size)) {
        return -1;
      }
      body = Arrays.copyOf(body, size);
    }
    System.arraycopy(data, from, body, bodyLength, count);
    bodyLength += count;
    return count;
  }

  /** Charges the server's budget for an array of that size instead of the one before. */
  private boolean hold(int size) {
    int more = size - heldBytes;
    heldBytes = size;
    return server.holdRequestBytes(more);
  }

  /** Bytes of the body that have not been taken. */
  int bodyMissing() {
    return bodyExpected - bodyLength;
  }

  boolean bodyComplete() {
    return bodyLength == bodyExpected;
  }

  /** Notes when the selector woke up for the request, which is complete now. */
  void parsed(long arrived) {
    arrivedNanos = arrived;
    timed = server.metrics().countsRequests();
  }

  /** Notes that it is submitted now, by this loop or, where null, another thread; returns the time, 0 if not timed. */
  long submitted(EventLoop loop) {
    long now = 0;
    if (timed) {
      now = loop == null ? System.nanoTime() : loop.now();
    }
    submittedNanos = now;
    return now;
  }

  @Override
  public void run() {
    EventLoop loop = EventLoop.current();
    if (timed) {
      boolean atOnce = loop != null && loop.isSubmittingSince(submittedNanos);
      startedNanos = atOnce ? submittedNanos : System.nanoTime();
    }
    ReplyBuffer buffer = server.replyBuffer(loop);
    buffer.begin(persistence);
    RangeReply range = null;
    boolean overloaded = false;
    try {
      range = perform(buffer);
    } catch (OverloadedException e) {
      server.metrics().reject(Rejection.WRITES_HELD_BACK);
      buffer.empty(503);
      overloaded = true;
    } catch (ReadOnlyException e) {
      server.metrics().reject(Rejection.READ_ONLY);
      buffer.whole(503, Replies.failure(503, String.valueOf(e.getMessage()), persistence));
    } catch (Throwable e) {
      log.error("{} failed", method, e);
      buffer.whole(500, Replies.failure(500, "internal error, see the service's log", persistence));
    }
    finish(loop, buffer, range, overloaded);
  }

  @Override
  public void reject(Rejection why) {
    if (timed) {
      startedNanos = System.nanoTime();
    }
    server.metrics().reject(why);
    EventLoop loop = EventLoop.current();
    ReplyBuffer buffer = server.replyBuffer(loop);
    buffer.begin(persistence);
    buffer.empty(503);
    finish(loop, buffer, null, true);
  }

  /** Does what is asked; returns the range's reply, or null where the buffer holds it. */
  private RangeReply perform(ReplyBuffer buffer) {
    switch (method) {
      case GET -> {
        if (!server.engine().get(key, 0, keyLength, buffer)) {
          buffer.empty(404);
        } else if (server.replyMemoryShort(buffer.length())) {
          server.metrics().reject(Rejection.REPLY_MEMORY);
          buffer.empty(503);
        }
      }
      case PUT -> {
        server.engine().put(key, 0, keyLength, body, 0, bodyLength);
        buffer.empty(201);
      }
      case DELETE -> {
        server.engine().delete(key, 0, keyLength);
        buffer.empty(202);
      }
      case RANGE -> {
        if (server.replyMemoryShort(RangeReply.BUFFER_BYTES)) {
          server.metrics().reject(Rejection.REPLY_MEMORY);
          buffer.empty(503);
          return null;
        }
        return range(buffer);
      }
      case OTHER -> throw new AssertionError("a request that is not served was submitted");
    }
    return null;
  }

  private RangeReply range(ReplyBuffer buffer) {
    Persistence how = http10 ? Persistence.CLOSE : persistence;
    persistence = how;
    byte[] head = Replies.stream(!http10, how);
    byte[] from = Arrays.copyOf(key, keyLength);
    byte[] to = endLength == QueryDecoder.ABSENT ? null : Arrays.copyOf(end, endLength);
    RangeReply range = new RangeReply(server.engine().scan(from, to), !http10, head, server);
    try {
      range.readFirstPart();
    } catch (RuntimeException | Error e) {
      range.release();
      throw e;
    }
    buffer.whole(200, head);
    return range;
  }

  /** Sends the reply, at once or at the end of the loop's turn. */
  private void finish(EventLoop loop, ReplyBuffer buffer, RangeReply range, boolean overloaded) {
    if (timed) {
      storedNanos = System.nanoTime();
      if (loop != null) {
        loop.isNow(storedNanos);
      }
    }
    status = buffer.status();
    turnedAway = overloaded;
    dropLargeArrays();
    if (range != null) {
      send(loop, range);
      return;
    }
    reply = buffer.data();
    replyFrom = buffer.from();
    replyLength = buffer.length();
    if (loop != null && loop.holds() && replyLength <= EventLoop.HELD_REPLY_BYTES_MAX) {
      buffer.keep();
      loop.hold(this);
    } else {
      send(loop, null);
    }
  }

  /** Sends the reply and counts; then the connection's next request may be in this object. */
  void send(EventLoop loop, RangeReply range) {
    boolean counted = timed;
    Method what = method;
    int answer = status;
    long arrived = arrivedNanos;
    long submitted = submittedNanos;
    long started = startedNanos;
    long stored = storedNanos;
    byte[] data = reply;
    reply = null;
    boolean keep = persistence != Persistence.CLOSE;
    boolean next;
    if (range != null) {
      next = connection.complete(range, keep);
    } else if (turnedAway) {
      next = connection.turnAway(data, replyFrom, replyLength, keep);
    } else {
      next = connection.complete(data, replyFrom, replyLength, keep);
    }
    if (counted) {
      long replied = System.nanoTime();
      if (loop != null) {
        loop.isNow(replied);
      }
      Recorder recorder = loop == null ? server.metrics().recorder() : loop.recorder();
      recorder.count(what, answer);
      recorder.time(what, arrived, submitted, started, stored, replied);
    }
    if (next) {
      connection.dispatch(true);
    }
  }

  /** Closes the connection of a reply that could not be sent. */
  void abandon(Throwable cause) {
    connection.handleException(cause);
  }

  /** Keeps what an ordinary next request can use. */
  void dropLargeArrays() {
    if (heldBytes > 0) {
      server.holdRequestBytes(-heldBytes);
      heldBytes = 0;
    }
    if (body.length > KEPT_BODY_BYTES_MAX) {
      body = NO_BYTES;
    }
    if (key.length > KEPT_KEY_BYTES_MAX) {
      key = new byte[64];
    }
    if (end.length > KEPT_KEY_BYTES_MAX) {
      end = NO_BYTES;
    }
  }

  @Override
  public Kind kind() {
    return switch (method) {
      case GET -> Kind.GET;
      case PUT -> Kind.PUT;
      case DELETE -> Kind.DELETE;
      case RANGE -> Kind.RANGE;
      case OTHER -> throw new AssertionError("a request that is not served was submitted");
    };
  }

  @Override
  public int keyHash() {
    int hash = 0;
    for (int i = 0; i < keyLength; i++) {
      hash = 31 * hash + key[i];
    }
    hash *= 0x9e3779b9;
    return hash ^ hash >>> 16;
  }

  @Override
  public long arrivedNanos() {
    return arrivedNanos;
  }
}
