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
 * The request that a connection has in flight, and how it is run and answered. A connection has one of these and uses it
 * again and again.
 *
 * <p><b>Who owns it.</b> The thread that parses, under the connection's lock, until the request is submitted to the
 * variant; then the thread that calls {@link #run} or {@link #reject}, which writes the reply at once or, where it is an
 * {@link EventLoop}, at the end of its turn; and from the moment that thread has written the reply the connection again,
 * whose next request may be parsed by another thread at once. So whatever is needed after the reply is read before it.
 */
final class Exchange implements Request {

  private static final Logger log = LoggerFactory.getLogger(Exchange.class);
  private final Connection connection;
  private final DataServer server;
  private final ParsedRequest asked;

  private byte[] reply;
  private int replyFrom;
  private int replyLength;
  private int status;
  private boolean turnedAway;

  /** Whether this request is counted. */
  private boolean counted;

  /** For how many requests it is timed; 0 if it is not. */
  private int timedFor;

  private long arrivedNanos;
  private long submittedNanos;
  private long startedNanos;
  private long storedNanos;

  Exchange(Connection connection, DataServer server) {
    this.connection = connection;
    this.server = server;
    this.asked = new ParsedRequest(server);
  }

  /** What the request asks for. */
  ParsedRequest asked() {
    return asked;
  }

  /** Notes when the selector woke up for the request, which is complete now. */
  void parsed(long arrived) {
    arrivedNanos = arrived;
    counted = server.metrics().countsRequests();
  }

  /** Notes that it is submitted now, by this loop or, where null, another thread; returns the time, 0 if not timed. */
  long submitted(EventLoop loop) {
    long now = 0;
    timedFor = !counted ? 0 : loop == null ? 1 : loop.timesFor(asked.method);
    if (timedFor > 0) {
      now = loop == null ? System.nanoTime() : loop.now();
    } else if (loop != null) {
      loop.isNow(0);
    }
    submittedNanos = now;
    return now;
  }

  @Override
  public void run() {
    EventLoop loop = EventLoop.current();
    if (timedFor > 0) {
      boolean atOnce = loop != null && loop.isSubmittingSince(submittedNanos);
      startedNanos = atOnce ? submittedNanos : System.nanoTime();
    }
    if (loop != null && asked.isWrite()) {
      writeLater(loop);
      return;
    }
    ReplyBuffer buffer = server.replyBuffer(loop);
    buffer.begin(asked.persistence);
    RangeReply range = null;
    turnedAway = false;
    try {
      range = perform(buffer);
    } catch (Throwable e) {
      fail(buffer, e);
    }
    finish(loop, buffer, range);
  }

  /** Answers that the storage has not done what was asked. */
  private void fail(ReplyBuffer buffer, Throwable why) {
    switch (why) {
      case OverloadedException e -> {
        server.metrics().reject(Rejection.WRITES_HELD_BACK);
        buffer.empty(503);
        turnedAway = true;
      }
      case ReadOnlyException e -> {
        server.metrics().reject(Rejection.READ_ONLY);
        buffer.whole(503, Replies.failure(503, String.valueOf(e.getMessage()), asked.persistence));
      }
      default -> {
        log.error("{} failed", asked.method, why);
        buffer.whole(
            500, Replies.failure(500, "internal error, see the service's log", asked.persistence));
      }
    }
  }

  private void writeLater(EventLoop loop) {
    try {
      loop.write(this);
    } catch (RuntimeException e) {
      written(loop, e, System.nanoTime());
    }
  }

  /**
   * The write is done, or failed; has the reply sent.
   *
   * @param failure why it failed, or null
   * @param nanos when that was
   */
  void written(EventLoop loop, Throwable failure, long nanos) {
    storedNanos = nanos;
    ReplyBuffer buffer = loop.replies();
    buffer.begin(asked.persistence);
    turnedAway = false;
    if (failure == null) {
      buffer.empty(asked.method == Method.PUT ? 201 : 202);
    } else {
      fail(buffer, failure);
    }
    asked.dropLargeArrays();
    take(buffer);
    loop.hold(this);
  }

  @Override
  public void reject(Rejection why) {
    if (timedFor > 0) {
      startedNanos = System.nanoTime();
    }
    server.metrics().reject(why);
    EventLoop loop = EventLoop.current();
    ReplyBuffer buffer = server.replyBuffer(loop);
    buffer.begin(asked.persistence);
    buffer.empty(503);
    turnedAway = true;
    finish(loop, buffer, null);
  }

  /** Does what is asked; returns the range's reply, or null where the buffer holds it. */
  private RangeReply perform(ReplyBuffer buffer) {
    switch (asked.method) {
      case GET -> {
        if (!server.engine().get(asked.key, 0, asked.keyLength, buffer)) {
          buffer.empty(404);
        } else if (server.replyMemoryShort(buffer.length())) {
          server.metrics().reject(Rejection.REPLY_MEMORY);
          buffer.empty(503);
        }
      }
      case PUT -> {
        server.engine().put(asked.key, 0, asked.keyLength, asked.body, 0, asked.bodyLength);
        buffer.empty(201);
      }
      case DELETE -> {
        server.engine().delete(asked.key, 0, asked.keyLength);
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
    Persistence how = asked.http10 ? Persistence.CLOSE : asked.persistence;
    asked.persistence = how;
    byte[] head = Replies.stream(!asked.http10, how);
    byte[] from = Arrays.copyOf(asked.key, asked.keyLength);
    byte[] to =
        asked.endLength == QueryDecoder.ABSENT ? null : Arrays.copyOf(asked.end, asked.endLength);
    RangeReply range = new RangeReply(server.engine().scan(from, to), !asked.http10, head, server);
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
  private void finish(EventLoop loop, ReplyBuffer buffer, RangeReply range) {
    if (timedFor > 0) {
      storedNanos = System.nanoTime();
      if (loop != null) {
        loop.isNow(storedNanos);
      }
    }
    asked.dropLargeArrays();
    take(buffer);
    if (range == null && loop != null && replyLength <= EventLoop.HELD_REPLY_BYTES_MAX) {
      buffer.keep();
      loop.hold(this);
    } else {
      send(loop, range);
    }
  }

  private void take(ReplyBuffer buffer) {
    status = buffer.status();
    reply = buffer.data();
    replyFrom = buffer.from();
    replyLength = buffer.length();
  }

  /** Sends the reply and counts; then the connection's next request may be in this object. */
  void send(EventLoop loop, RangeReply range) {
    final boolean count = counted;
    final int times = timedFor;
    Method what = asked.method;
    int answer = status;
    long arrived = arrivedNanos;
    long submitted = submittedNanos;
    long started = startedNanos;
    long stored = storedNanos;
    byte[] data = reply;
    reply = null;
    boolean keep = asked.persistence != Persistence.CLOSE;
    boolean next;
    if (range != null) {
      next = connection.complete(range, keep);
    } else if (turnedAway) {
      next = connection.turnAway(data, replyFrom, replyLength, keep);
    } else {
      next = connection.complete(data, replyFrom, replyLength, keep);
    }
    if (count) {
      Recorder recorder = loop == null ? server.metrics().recorder() : loop.recorder();
      recorder.count(what, answer);
      long replied = 0;
      if (times > 0) {
        replied = System.nanoTime();
        recorder.time(what, times, arrived, submitted, started, stored, replied);
      }
      if (loop != null) {
        loop.isNow(replied);
      }
    }
    if (next) {
      connection.dispatch(true);
    }
  }

  /** Closes the connection of a reply that could not be sent. */
  void abandon(Throwable cause) {
    connection.handleException(cause);
  }

  @Override
  public Kind kind() {
    return asked.kind();
  }

  @Override
  public int keyHash() {
    return asked.keyHash();
  }

  @Override
  public long arrivedNanos() {
    return arrivedNanos;
  }
}
